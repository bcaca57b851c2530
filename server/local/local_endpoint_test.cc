#include "server/local/local_endpoint.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include "common/codec/encoder.h"
#include "common/posix/unix_socket.h"
#include "common/shm/commit_writer.h"
#include "common/shm/gate_member.h"
#include "common/values/value.h"
#include "common/wire.h"
#include "server/ports/fake_sink.h"

namespace canopy::local {
namespace {

struct ReceivedFrame {
  FrameHeader header;
  std::string payload;
};

// A client that speaks the protocol by hand.
class TestClient {
 public:
  explicit TestClient(const std::string& path) {
    auto fd = ConnectUnix(path);
    EXPECT_TRUE(fd.ok());
    if (fd.ok()) fd_ = std::move(*fd);
  }

  void SendRaw(std::string_view bytes) {
    EXPECT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  static std::string Frame(FrameType type, uint64_t tag,
                           const std::string& payload) {
    FrameHeader header;
    header.type = static_cast<uint16_t>(type);
    header.length = static_cast<uint32_t>(payload.size());
    header.tag = tag;
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
           payload;
  }
  void Send(FrameType type, uint64_t tag, const std::string& payload) {
    SendRaw(Frame(type, tag, payload));
  }
  void Hello(const ProcId& proc, const std::string& token,
             uint64_t version = kProtocolVersion) {
    WireWriter w;
    w.Uint(version);
    w.Proc(proc);
    w.String(token);
    w.String("test");
    Send(FrameType::kHello, 1, w.str());
  }

  // Takes what is there; false at the end of the stream.
  bool Pump() {
    std::string data(1 << 20, '\0');
    for (;;) {
      iovec part{data.data(), data.size()};
      alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      const ssize_t n = recvmsg(fd_.get(), &message, MSG_DONTWAIT);
      if (n == 0) return false;
      if (n < 0) return errno == EAGAIN;
      bytes_.append(data, 0, static_cast<size_t>(n));
      for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr;
           c = CMSG_NXTHDR(&message, c)) {
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; ++i) {
          int fd;
          std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
          fds.emplace_back(fd);
        }
      }
    }
  }
  std::optional<ReceivedFrame> Next() {
    Pump();
    ReceivedFrame frame;
    if (bytes_.size() < sizeof frame.header) return std::nullopt;
    std::memcpy(&frame.header, bytes_.data(), sizeof frame.header);
    const size_t size = sizeof frame.header + frame.header.length;
    if (bytes_.size() < size) return std::nullopt;
    frame.payload = bytes_.substr(sizeof frame.header, frame.header.length);
    bytes_.erase(0, size);
    return frame;
  }
  void Disconnect() { fd_.Reset(); }

  std::deque<UniqueFd> fds;

 private:
  UniqueFd fd_;
  std::string bytes_;
};

JobSpec Spec(const std::string& nspace) {
  JobSpec job;
  job.nspace = nspace;
  job.uid = getuid();
  job.apps.resize(1);
  job.nodes = {{"a", {}, 0, 4}, {"b", {}, 1, 4}};
  job.procs = {{0, 0, ""}, {0, 0, ""}, {1, 0, ""}};
  return job;
}

class LocalEndpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = "/tmp/canopy-test-XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    null_.Reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    Make();
  }
  void TearDown() override {
    endpoint_.reset();
    EXPECT_NE(access(path().c_str(), F_OK), 0);
    EXPECT_EQ(rmdir(directory_.c_str()), 0);
  }

  virtual void Tune(LocalOptions*) {}
  void Make() {
    LocalOptions options;
    options.environment.socket_path = path();
    options.environment.self = 0;
    options.server = {"canopy", 0};
    options.segment =
        [this](const std::string& ns) -> std::optional<SegmentRef> {
      if (ns == "lost") return std::nullopt;
      return SegmentRef{null_.get(), 4096 + ns.size(), nullptr};
    };
    options.holds = [](const ProcId& proc) { return proc.nspace != "full"; };
    options.make_directory = [this](const ProcId& proc) {
      made_.push_back(proc);
    };
    options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
    Tune(&options);
    endpoint_.emplace(&loop_, &sink_, std::move(options));
    ASSERT_TRUE(endpoint_->Start().ok());
    AddJob("job");
  }
  void AddJob(const std::string& nspace) {
    const JobSpec spec = Spec(nspace);
    core::RegisterJob job;
    job.layout = std::make_shared<JobLayout>(spec);
    job.job = std::make_shared<JobSpec>(spec);
    prepare_ = {job.job, job.layout};
    endpoint_->AddJob(job);
  }
  std::string path() const { return directory_ + "/s"; }
  std::string Token(Rank rank) {
    for (const std::string& entry : endpoint_->ForRank(prepare_, rank)) {
      if (entry.starts_with("CANOPY_TOKEN=")) return entry.substr(13);
    }
    return "none";
  }
  // Lets the endpoint take everything that was sent.
  void Settle() {
    for (int i = 0; i < 8; ++i) loop_.RunOnce(0);
  }
  std::unique_ptr<TestClient> Connected(Rank rank) {
    auto client = std::make_unique<TestClient>(path());
    client->Hello({"job", rank}, Token(rank));
    Settle();
    const auto reply = client->Next();
    EXPECT_TRUE(reply.has_value());
    if (reply) {
      WireReader r(reply->payload);
      EXPECT_EQ(r.Int(), 0);
    }
    return client;
  }
  core::ClientId IdOf(size_t n) {
    return sink_.All<core::ClientConnected>().at(n).client;
  }
  void Reply(size_t client, uint64_t tag, int status,
             const std::string& payload = "") {
    core::ReplyClient reply;
    reply.client = IdOf(client);
    reply.request = tag;
    reply.status = status;
    reply.payload = Bytes(payload);
    endpoint_->Reply(reply);
  }
  static int StatusOf(const std::optional<ReceivedFrame>& frame) {
    if (!frame) return 9999;
    WireReader r(frame->payload);
    return static_cast<int>(r.Int());
  }
  static std::string PayloadOf(const std::optional<ReceivedFrame>& frame) {
    if (!frame) return "none";
    WireReader r(frame->payload);
    r.Int();
    return std::string(r.String());
  }
  static std::string GetOf(const ProcId& target) {
    WireWriter w;
    w.Proc(target);
    w.String("key");
    w.Bool(false);
    w.Bool(false);
    w.Uint(0);
    return w.Take();
  }

  EventLoop loop_;
  FakeSink sink_;
  std::string directory_;
  UniqueFd null_;
  std::vector<std::string> log_;
  std::vector<ProcId> made_;
  core::PrepareLocal prepare_;
  std::optional<LocalEndpoint> endpoint_;
};

TEST_F(LocalEndpointTest, HelloGivesIdentityAndSegment) {
  TestClient client(path());
  client.Hello({"job", 1}, Token(1), 1);
  Settle();
  const auto frame = client.Next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->header.type, static_cast<uint16_t>(FrameType::kReply));
  EXPECT_EQ(frame->header.tag, 1u);
  WireReader outer(frame->payload);
  EXPECT_EQ(outer.Int(), 0);
  WireReader r(outer.String());
  EXPECT_TRUE(outer.done());
  EXPECT_EQ(r.Proc(), (ProcId{"job", 1}));
  EXPECT_EQ(r.Proc(), (ProcId{"canopy", 0}));
  EXPECT_EQ(r.Uint(), 4099u);
  EXPECT_TRUE(r.done());
  ASSERT_EQ(client.fds.size(), 1u);
  struct stat got, want;
  ASSERT_EQ(fstat(client.fds[0].get(), &got), 0);
  ASSERT_EQ(fstat(null_.get(), &want), 0);
  EXPECT_EQ(got.st_rdev, want.st_rdev);
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 1u);
  EXPECT_EQ(connected[0].proc, (ProcId{"job", 1}));
  EXPECT_EQ(KindOf(connected[0].client), ClientKind::kLocal);
  EXPECT_TRUE(log_.empty());
}

TEST_F(LocalEndpointTest, SocketIsPrivate) {
  struct stat info;
  ASSERT_EQ(stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(LocalEndpointTest, RequestsReachTheCoreAndAnswersComeBack) {
  auto client = Connected(0);
  client->Send(FrameType::kFinalize, 5, "");
  client->Send(FrameType::kGet, 6, GetOf({"job", 1}));
  Settle();
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
  ASSERT_EQ(sink_.All<core::GetArrived>().size(), 1u);
  EXPECT_EQ(sink_.All<core::GetArrived>()[0].request, 6u);
  Reply(0, 6, 0, "not needed: it is in the segment");
  Reply(0, 5, -46);
  Settle();
  auto frame = client->Next();
  EXPECT_EQ(frame->header.tag, 6u);
  EXPECT_EQ(StatusOf(frame), 0);
  EXPECT_EQ(PayloadOf(frame), "");
  frame = client->Next();
  EXPECT_EQ(frame->header.tag, 5u);
  EXPECT_EQ(StatusOf(frame), -46);
}

TEST_F(LocalEndpointTest, FramesInAnyPieces) {
  auto client = Connected(0);
  std::string bytes;
  for (uint64_t tag = 1; tag <= 20; ++tag) {
    bytes += TestClient::Frame(FrameType::kGet, tag, GetOf({"job", 1}));
  }
  for (size_t at = 0, n = 1; at < bytes.size(); at += n, n = n * 2 % 97 + 1) {
    client->SendRaw(std::string_view(bytes).substr(at, n));
    loop_.RunOnce(0);
  }
  Settle();
  const auto gets = sink_.All<core::GetArrived>();
  ASSERT_EQ(gets.size(), 20u);
  for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(gets[i].request, i + 1);
}

TEST_F(LocalEndpointTest, LargeCommit) {
  auto client = Connected(0);
  Encoder encoder;
  encoder.PutKval("big", Value::ByteObject(std::string(3 << 20, 'b')).raw());
  const std::string kvals = encoder.Take();
  WireWriter w;
  w.Uint(1);
  w.Uint(3);
  w.String(kvals);
  const std::string frame = TestClient::Frame(FrameType::kCommit, 0, w.str());
  for (size_t at = 0; at < frame.size(); at += 100000) {
    client->SendRaw(std::string_view(frame).substr(at, 100000));
    loop_.RunOnce(0);
  }
  Settle();
  const auto commits = sink_.All<core::Committed>();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].data[0].kvals.view(), kvals);
}

TEST_F(LocalEndpointTest, AnswersOfOneRoundGoTogether) {
  auto client = Connected(0);
  sink_.on_input = [this](const core::Input& input) {
    if (const auto* get = std::get_if<core::GetArrived>(&input)) {
      Reply(0, get->request, -46);
    }
  };
  std::string bytes;
  for (uint64_t tag = 1; tag <= 100; ++tag) {
    bytes += TestClient::Frame(FrameType::kGet, tag, GetOf({"job", 1}));
  }
  client->SendRaw(bytes);
  loop_.RunOnce(1000);
  for (uint64_t tag = 1; tag <= 100; ++tag) {
    const auto frame = client->Next();
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->header.tag, tag);
  }
}

TEST_F(LocalEndpointTest, DataOfAnotherNamespaceComesWithItsSegment) {
  auto client = Connected(0);
  client->fds.clear();
  client->Send(FrameType::kGet, 2, GetOf({"other", 0}));
  client->Send(FrameType::kGet, 3, GetOf({"other", 1}));
  client->Send(FrameType::kGet, 4, GetOf({"job", kRankUndef}));
  client->Send(FrameType::kGet, 5, GetOf({"lost", 1}));
  Settle();
  for (const uint64_t tag : {2, 3, 4, 5}) Reply(0, tag, 0, "kvals");
  Settle();
  const auto segment = client->Next();
  ASSERT_TRUE(segment.has_value());
  EXPECT_EQ(segment->header.type, static_cast<uint16_t>(FrameType::kSegment));
  WireReader r(segment->payload);
  EXPECT_EQ(r.String(), "other");
  EXPECT_EQ(r.Uint(), 4101u);
  EXPECT_EQ(client->fds.size(), 1u);
  EXPECT_EQ(PayloadOf(client->Next()), "");
  EXPECT_EQ(PayloadOf(client->Next()), "");
  EXPECT_EQ(PayloadOf(client->Next()), "kvals") << "owner not known";
  EXPECT_EQ(PayloadOf(client->Next()), "kvals") << "no segment";
  EXPECT_FALSE(client->Next().has_value());
}

TEST_F(LocalEndpointTest, WhatDidNotFitTravelsInTheAnswer) {
  auto client = Connected(0);
  client->Send(FrameType::kGet, 2, GetOf({"full", 0}));
  Settle();
  Reply(0, 2, 0, "kvals");
  Settle();
  EXPECT_EQ(client->Next()->header.type,
            static_cast<uint16_t>(FrameType::kSegment));
  EXPECT_EQ(PayloadOf(client->Next()), "kvals");
}

TEST_F(LocalEndpointTest, Events) {
  auto client = Connected(0);
  core::NotifyClient event;
  event.client = IdOf(0);
  event.status = -200;
  event.source = {"job", 2};
  event.range = 4;
  event.info = Bytes(std::string("info"));
  endpoint_->Notify(event);
  Settle();
  const auto frame = client->Next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->header.type, static_cast<uint16_t>(FrameType::kEvent));
  WireReader r(frame->payload);
  EXPECT_EQ(r.Int(), -200);
  EXPECT_EQ(r.Proc(), (ProcId{"job", 2}));
  EXPECT_EQ(r.Uint(), 4u);
  EXPECT_EQ(r.String(), "info");
  EXPECT_TRUE(r.done());
}

TEST_F(LocalEndpointTest, EndOfAConnectionIsReportedOnce) {
  auto client = Connected(0);
  client->Disconnect();
  Settle();
  const auto gone = sink_.All<core::ClientGone>();
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].client, IdOf(0));
  EXPECT_EQ(endpoint_->num_connections(), 0u);
  EXPECT_TRUE(log_.empty());
  Reply(0, 1, 0);  // too late, and harmless
  Settle();
}

TEST_F(LocalEndpointTest, CloseByTheCore) {
  auto client = Connected(0);
  Reply(0, 8, 0);
  endpoint_->Close(IdOf(0), "its process is gone");
  Settle();
  EXPECT_EQ(client->Next()->header.tag, 8u);
  EXPECT_FALSE(client->Pump());
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("job:0: its process is gone"), std::string::npos);
}

TEST_F(LocalEndpointTest, LiesAboutIdentity) {
  const struct {
    ProcId claimed;
    std::string token;
  } lies[] = {
      {{"job", 0}, Token(1)},       // another rank's token
      {{"job", 0}, ""},             // none
      {{"job", 2}, Token(0)},       // runs on another node
      {{"job", 99}, Token(0)},      // there is no such rank
      {{"other-job", 0}, Token(0)}  // nor such a job
  };
  size_t logged = 0;
  for (const auto& lie : lies) {
    TestClient client(path());
    client.Hello(lie.claimed, lie.token);
    Settle();
    EXPECT_EQ(StatusOf(client.Next()), kErrInvalidCred);
    EXPECT_FALSE(client.Pump());
    EXPECT_EQ(log_.size(), ++logged);
  }
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

TEST_F(LocalEndpointTest, ProcessTreeInsteadOfToken) {
  endpoint_->OnProcess("job", 0, getpid());
  TestClient client(path());
  client.Hello({"job", 0}, "");
  Settle();
  EXPECT_EQ(StatusOf(client.Next()), 0);
}

TEST_F(LocalEndpointTest, VersionTooOld) {
  TestClient client(path());
  client.Hello({"job", 0}, Token(0), 0);
  Settle();
  EXPECT_EQ(StatusOf(client.Next()), kErrHandshakeFailed);
  EXPECT_FALSE(client.Pump());
}

TEST_F(LocalEndpointTest, DirectoriesForLibrariesThatMakeNone) {
  TestClient old(path()), current(path());
  old.Hello({"job", 0}, Token(0), 3);
  current.Hello({"job", 1}, Token(1));
  Settle();
  ASSERT_EQ(StatusOf(old.Next()), 0);
  ASSERT_EQ(StatusOf(current.Next()), 0);
  EXPECT_EQ(made_, (std::vector<ProcId>{{"job", 0}}));
}

TEST_F(LocalEndpointTest, GarbageHarmsNobodyElse) {
  auto good = Connected(0);
  const std::string bad[] = {
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      TestClient::Frame(FrameType::kFinalize, 1, ""),
      TestClient::Frame(FrameType::kHello, 1, "junk"),
      std::string(64, '\xff'),
      TestClient::Frame(FrameType::kHello, 1, std::string(5000, 'h')),
  };
  for (const std::string& bytes : bad) {
    log_.clear();
    TestClient client(path());
    client.SendRaw(bytes);
    Settle();
    while (client.Next().has_value()) {
    }
    EXPECT_FALSE(client.Pump());
    EXPECT_EQ(log_.size(), 1u);
  }
  good->Send(FrameType::kFinalize, 5, "");
  Settle();
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
}

// Ranks 0 and 1 are here, rank 2 is elsewhere.
class GatedTest : public LocalEndpointTest {
 protected:
  struct Member {
    std::unique_ptr<TestClient> client;
    std::unique_ptr<shm::GateMember> gate;
    std::unique_ptr<shm::CommitWriter> box;
    shm::GateMember::Ticket ticket;
  };
  Member Join(Rank rank) {
    Member member;
    member.client = std::make_unique<TestClient>(path());
    member.client->Hello({"job", rank}, Token(rank));
    Settle();
    const std::string welcome = PayloadOf(member.client->Next());
    WireReader r(welcome);
    r.Proc();
    r.Proc();
    r.Uint();
    const uint64_t size = r.Uint();
    const uint32_t index = r.Uint32();
    EXPECT_EQ(r.Uint32(), 0u);  // no other agent is to be looked for
    EXPECT_NE(r.Uint(), 0u);
    const uint64_t boxes_size = r.Uint();
    EXPECT_TRUE(r.done());
    EXPECT_EQ(member.client->fds.size(), 3u);
    if (member.client->fds.size() == 3) {
      auto gate =
          shm::GateMember::Map(member.client->fds[1].get(), size, index);
      EXPECT_TRUE(gate.ok());
      member.gate = std::move(gate).value();
      auto box = shm::CommitWriter::Map(member.client->fds[2].get(), boxes_size,
                                        index, member.gate->commits());
      EXPECT_TRUE(box.ok());
      member.box = std::move(box).value();
    }
    return member;
  }
  static std::string Commit() {
    WireWriter w;
    w.Uint(0);
    return w.Take();
  }
  static std::string WholeJobFence() {
    WireWriter w;
    w.Uint(1);
    w.Uint(0);
    w.Bool(false);
    w.Uint(0);
    w.String("");
    return w.Take();
  }
  // Answers what arrived at the gate.
  void AnswerGate(size_t client, int status) {
    Reply(client, kGateRequest, status);
  }
};

TEST_F(GatedTest, CommitsAreReadBeforeTheFence) {
  Member a = Join(0);
  Member b = Join(1);
  ASSERT_EQ(a.gate->Arrive(0, &a.ticket), shm::GateMember::Arrival::kWait);
  b.gate->commits()->fetch_add(1);
  ASSERT_EQ(b.gate->Arrive(shm::kGateSync, &b.ticket),
            shm::GateMember::Arrival::kRing);
  a.client->Send(FrameType::kGateFull, 0, "");
  b.client->Send(FrameType::kCommit, 0, Commit());
  Settle();
  ASSERT_EQ(sink_.All<core::Committed>().size(), 1u);
  ASSERT_EQ(sink_.All<core::CollectiveArrived>().size(), 2u);
  int status = -1;
  EXPECT_FALSE(a.gate->Wait(a.ticket, 0, &status));
  AnswerGate(0, kSuccess);
  AnswerGate(1, kSuccess);
  EXPECT_TRUE(a.gate->Wait(a.ticket, 0, &status));
  EXPECT_EQ(status, kSuccess);
}

TEST_F(GatedTest, FencesByMessageCloseItForAWhile) {
  Member a = Join(0);
  Member b = Join(1);
  a.client->Send(FrameType::kCollective, 5, WholeJobFence());
  Settle();
  EXPECT_EQ(b.gate->Arrive(0, &b.ticket), shm::GateMember::Arrival::kClosed);
  b.client->Send(FrameType::kCollective, 5, WholeJobFence());
  Settle();
  Reply(0, 5, kSuccess);
  Reply(1, 5, kSuccess);
  EXPECT_EQ(b.gate->Arrive(0, &b.ticket), shm::GateMember::Arrival::kWait);
}

TEST_F(GatedTest, TheEndOfAMemberHandsOver) {
  Member a = Join(0);
  Member b = Join(1);
  ASSERT_EQ(a.gate->Arrive(0, &a.ticket), shm::GateMember::Arrival::kWait);
  b.client->Disconnect();
  Settle();
  ASSERT_EQ(sink_.All<core::CollectiveArrived>().size(), 1u);
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
}

TEST_F(GatedTest, OldClientsGetNone) {
  TestClient old(path());
  old.Hello({"job", 0}, Token(0), 1);
  Settle();
  EXPECT_EQ(StatusOf(old.Next()), 0);
  EXPECT_EQ(old.fds.size(), 1u);
  Member b = Join(1);
  EXPECT_EQ(b.gate->Arrive(0, &b.ticket), shm::GateMember::Arrival::kClosed);
}

TEST_F(GatedTest, TheGatesRequestIsNobodysTag) {
  Member a = Join(0);
  a.client->Send(FrameType::kCollective, kGateRequest, WholeJobFence());
  Settle();
  EXPECT_FALSE(a.client->Pump());
}

class BoxTest : public GatedTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->keep_boxes = [this](const std::string& nspace, UniqueFd boxes) {
      EXPECT_EQ(nspace, "job");
      kept_.push_back(std::move(boxes));
    };
    options->watch_gates_ns = watch_ns_;
  }
  // Ranks whose commits the core was told of.
  std::vector<Rank> Taken() const {
    std::vector<Rank> ranks;
    for (const auto& taken : sink_.All<core::CommitTaken>()) {
      ranks.push_back(taken.proc.rank);
    }
    return ranks;
  }
  // The kinds of what the core was told, without connections.
  bool CommitCameFirst() const {
    for (const core::Input& input : sink_.inputs) {
      if (std::holds_alternative<core::ClientConnected>(input)) continue;
      return std::holds_alternative<core::CommitTaken>(input);
    }
    return false;
  }

  std::vector<UniqueFd> kept_;
  int64_t watch_ns_ = LocalOptions().watch_gates_ns;
};

using Ranks = std::vector<Rank>;

TEST_F(BoxTest, OlderClientsGetNone) {
  TestClient old(path());
  old.Hello({"job", 0}, Token(0), 4);
  Settle();
  const std::string welcome = PayloadOf(old.Next());
  WireReader r(welcome);
  r.Proc();
  r.Proc();
  for (int i = 0; i < 5; ++i) r.Uint();
  EXPECT_TRUE(r.done());
  EXPECT_EQ(old.fds.size(), 2u);
  EXPECT_TRUE(kept_.empty());
}

TEST_F(BoxTest, OneConnectionOfARankHasTheBox) {
  Member a = Join(0);
  TestClient second(path());
  second.Hello({"job", 0}, Token(0));
  Settle();
  const std::string welcome = PayloadOf(second.Next());
  WireReader r(welcome);
  r.Proc();
  r.Proc();
  for (int i = 0; i < 5; ++i) r.Uint();
  EXPECT_EQ(r.Uint(), 0u);
  EXPECT_TRUE(r.done());
  EXPECT_EQ(second.fds.size(), 1u);
  // What that one sends has no part in the order of the first.
  a.box->Write(Commit());
  second.Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks());
}

TEST_F(BoxTest, WhatAClientSendsComesAfterItsCommit) {
  Member a = Join(0);
  Member b = Join(1);
  EXPECT_EQ(kept_.size(), 1u) << "before anybody could write";
  a.box->Write(Commit());
  b.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks());
  sink_.inputs.clear();
  a.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks{0});
  EXPECT_TRUE(CommitCameFirst());
}

TEST_F(BoxTest, CommitsByMessageKeepTheirPlace) {
  Member a = Join(0);
  a.gate->commits()->fetch_add(1);
  EXPECT_EQ(a.box->Write(Commit()), shm::CommitWriter::Outcome::kMessage);
  a.client->Send(FrameType::kCommit, 0, Commit());
  Settle();
  EXPECT_EQ(sink_.All<core::Committed>().size(), 1u);
  EXPECT_EQ(a.box->Write(Commit()), shm::CommitWriter::Outcome::kWritten);
}

TEST_F(BoxTest, AtAFenceTheyAreTaken) {
  Member a = Join(0);
  Member b = Join(1);
  a.box->Write(Commit());
  a.gate->Arrive(shm::kGateSync, &a.ticket);
  b.box->Write(Commit());
  b.gate->Arrive(shm::kGateSync, &b.ticket);
  sink_.inputs.clear();
  b.client->Send(FrameType::kGateFull, 0, "");
  Settle();
  EXPECT_EQ(Taken(), (Ranks{1, 0}));
  EXPECT_TRUE(CommitCameFirst());
  EXPECT_EQ(sink_.All<core::CollectiveArrived>().size(), 2u);
}

TEST_F(BoxTest, WhoeverAsksIsServed) {
  Member a = Join(0);
  Member b = Join(1);
  b.box->Write(Commit());
  endpoint_->TakeCommits({"job", 0});
  endpoint_->TakeCommits({"other", 1});
  EXPECT_EQ(Taken(), Ranks());
  endpoint_->TakeCommits({"job", 1});
  EXPECT_EQ(Taken(), Ranks{1});
  a.box->Write(Commit());
  endpoint_->TakeCommits({"job", kRankUndef});
  EXPECT_EQ(Taken(), (Ranks{1, 0}));
}

TEST_F(BoxTest, WhoIsAwaitedRings) {
  Member a = Join(0);
  endpoint_->AwaitCommit({"job", 0});
  endpoint_->AwaitCommit({"other", 0});
  EXPECT_EQ(a.box->Write(Commit()), shm::CommitWriter::Outcome::kRing);
  a.client->Send(FrameType::kCommitted, 0, "");
  Settle();
  EXPECT_EQ(Taken(), Ranks{0});
}

TEST_F(BoxTest, WhatAProcessLeavesBehind) {
  Member a = Join(0);
  a.box->Write(Commit());
  sink_.inputs.clear();
  a.client->Disconnect();
  Settle();
  EXPECT_EQ(Taken(), Ranks{0});
  EXPECT_TRUE(CommitCameFirst());
}

TEST_F(BoxTest, NonsenseClosesTheConnection) {
  Member a = Join(0);
  Member b = Join(1);
  a.box->Write("nonsense");
  b.box->Write(Commit());
  endpoint_->TakeCommits({"job", kRankWildcard});
  Settle();
  EXPECT_EQ(Taken(), Ranks{1});
  EXPECT_FALSE(a.client->Pump());
  EXPECT_TRUE(b.client->Pump());
  ASSERT_EQ(log_.size(), 1u);
}

TEST_F(BoxTest, NonsenseBeforeAFrameLeavesTheFrameUnread) {
  Member a = Join(0);
  a.box->Write("nonsense");
  a.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_TRUE(sink_.All<core::FinalizeArrived>().empty());
}

TEST_F(BoxTest, AnotherAgentFindsWhatIsThere) {
  Member a = Join(0);
  a.box->Write(Commit());
  ASSERT_EQ(kept_.size(), 1u);
  endpoint_.reset();
  sink_.inputs.clear();
  Make();
  // The job came first.
  endpoint_->DropJob("job");
  endpoint_->Inherit("job", std::move(kept_[0]));
  AddJob("job");
  EXPECT_EQ(Taken(), Ranks{0});
  // A process that does not know of it yet goes on.
  a.box->Write(Commit());
  endpoint_->TakeCommits({"job", 0});
  EXPECT_EQ(Taken(), (Ranks{0, 0}));
  // And has the same box when it does.
  Member again = Join(0);
  a.box->Write(Commit());
  again.box->Write(Commit());
  again.client->Send(FrameType::kFinalize, 2, "");
  Settle();
  EXPECT_EQ(Taken(), (Ranks{0, 0, 0, 0}));
}

class WatchedBoxTest : public BoxTest {
 protected:
  WatchedBoxTest() { watch_ns_ = 1; }
};

// Others may look for it in the segment alone.
TEST_F(WatchedBoxTest, WhatNobodyAsksForIsTakenInTime) {
  Member a = Join(0);
  a.box->Write(Commit());
  for (int i = 0; i < 100 && Taken().empty(); ++i) loop_.RunOnce(10);
  EXPECT_EQ(Taken(), Ranks{0});
}

TEST_F(LocalEndpointTest, GarbageAfterHelloCloses) {
  const std::string bad[] = {
      TestClient::Frame(FrameType::kGet, 1, "junk"),
      TestClient::Frame(FrameType::kHello, 1, "again"),
      std::string(64, '\xff'),
  };
  for (const std::string& bytes : bad) {
    auto client = Connected(1);
    log_.clear();
    client->SendRaw(bytes);
    Settle();
    EXPECT_FALSE(client->Pump());
    EXPECT_EQ(log_.size(), 1u);
  }
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 3u);
}

TEST_F(LocalEndpointTest, UnknownRequestIsAnswered) {
  auto client = Connected(0);
  client->Send(static_cast<FrameType>(50), 3, "whatever");
  client->Send(static_cast<FrameType>(50), 0, "whatever");
  Settle();
  EXPECT_EQ(StatusOf(client->Next()), kErrNotSupported);
  EXPECT_FALSE(client->Next().has_value());
  EXPECT_TRUE(client->Pump());
}

TEST_F(LocalEndpointTest, SeveralConnectionsOfOneRank) {
  auto first = Connected(0);
  auto second = Connected(0);
  EXPECT_NE(IdOf(0), IdOf(1));
  Reply(1, 4, 0);
  Settle();
  EXPECT_FALSE(first->Next().has_value());
  EXPECT_TRUE(second->Next().has_value());
}

TEST_F(LocalEndpointTest, JobOverClosesItsConnections) {
  auto client = Connected(0);
  AddJob("job2");
  endpoint_->DropJob("job2");
  Settle();
  EXPECT_EQ(endpoint_->num_connections(), 1u);
  endpoint_->DropJob("job");
  Settle();
  EXPECT_FALSE(client->Pump());
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
}

TEST_F(LocalEndpointTest, ReplacedSocketIsNotRemoved) {
  ASSERT_EQ(unlink(path().c_str()), 0);
  const int fd = open(path().c_str(), O_CREAT | O_WRONLY, 0600);
  close(fd);
  endpoint_.reset();
  EXPECT_EQ(unlink(path().c_str()), 0);
}

TEST_F(LocalEndpointTest, NoDescriptorLeft) {
  auto good = Connected(0);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<TestClient>(path()));
  }
  const int next = dup(null_.get());
  close(next);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  Settle();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (auto& client : clients) EXPECT_FALSE(client->Pump());
  EXPECT_EQ(log_.size(), 1u);
  good->Send(FrameType::kFinalize, 5, "");
  Settle();
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
  EXPECT_NE(Connected(1), nullptr);
}

class TunedEndpointTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->hello_timeout_ns = 1;
    options->max_connections_per_rank = 2;
    options->pause_reading_bytes = 100 << 10;
    options->max_queued_bytes = 2 << 20;
  }
};

TEST_F(TunedEndpointTest, SilenceBeforeHelloCloses) {
  TestClient client(path());
  for (int i = 0; i < 4; ++i) loop_.RunOnce(10);
  EXPECT_FALSE(client.Pump());
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

class CappedEndpointTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->max_connections_per_rank = 2;
    options->pause_reading_bytes = 100 << 10;
    options->max_queued_bytes = 2 << 20;
  }
};

TEST_F(CappedEndpointTest, TooManyConnectionsOfARank) {
  auto first = Connected(0);
  auto second = Connected(0);
  TestClient third(path());
  third.Hello({"job", 0}, Token(0));
  Settle();
  EXPECT_EQ(StatusOf(third.Next()), kErrResourceBusy);
  first->Disconnect();
  Settle();
  EXPECT_NE(Connected(0), nullptr);
}

TEST_F(CappedEndpointTest, WhoDoesNotReadIsNotReadAndThenClosed) {
  auto client = Connected(0);
  core::NotifyClient event;
  event.client = IdOf(0);
  event.info = Bytes(std::string(100 << 10, 'e'));
  for (int i = 0; i < 8; ++i) endpoint_->Notify(event);
  Settle();
  client->Send(FrameType::kFinalize, 5, "");
  Settle();
  EXPECT_TRUE(sink_.All<core::FinalizeArrived>().empty());
  int events = 0;
  for (int i = 0; i < 50 && events < 8; ++i) {
    while (client->Next().has_value()) ++events;
    Settle();
  }
  EXPECT_EQ(events, 8);
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
  EXPECT_TRUE(log_.empty());
  for (int i = 0; i < 40; ++i) endpoint_->Notify(event);
  Settle();
  EXPECT_EQ(log_.size(), 1u);
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
}

TEST(LocalEndpointStartTest, PathTooLong) {
  EventLoop loop;
  FakeSink sink;
  LocalOptions options;
  options.environment.socket_path = "/tmp/" + std::string(150, 'x');
  LocalEndpoint endpoint(&loop, &sink, std::move(options));
  EXPECT_EQ(endpoint.Start().code(), kErrBadParam);
}

}  // namespace
}  // namespace canopy::local
