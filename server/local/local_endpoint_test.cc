#include "server/local/local_endpoint.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/codec/encoder.h"
#include "common/local/calls.h"
#include "common/local/collectives.h"
#include "common/local/data.h"
#include "common/local/events.h"
#include "common/local/greeting.h"
#include "common/process_keys.h"
#include "common/values/value.h"
#include "server/local/local_endpoint_test_base.h"

namespace canopy::local {
namespace {

TEST_F(LocalEndpointTest, AHelloConnectsTheRankAndSendsItsSegment) {
  TestClient client(path());
  client.Hello({"job", 1}, Token(1));
  Settle();
  const auto frame = client.Next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->header.type, static_cast<uint16_t>(FrameType::kReply));
  EXPECT_EQ(frame->header.tag, 1u);
  Welcome welcome;
  ASSERT_TRUE(wire::Decode(ReplyIn(*frame).payload, &welcome));
  EXPECT_EQ(OwnerOf(welcome.self), (ProcId{"job", 1}));
  EXPECT_EQ(OwnerOf(welcome.server), (ProcId{"canopy", 0}));
  EXPECT_EQ(welcome.segment_size, 4099u);
  EXPECT_NE(welcome.epoch, 0u);
  ASSERT_FALSE(client.fds.empty());
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

TEST_F(LocalEndpointTest, AToolIsNamedAndGetsNoSegment) {
  TestClient client(path());
  client.ToolHello({"", 0});
  Settle();
  const auto frame = client.Next();
  ASSERT_TRUE(frame.has_value());
  Welcome welcome;
  ASSERT_TRUE(wire::Decode(ReplyIn(*frame).payload, &welcome));
  const ProcId named = OwnerOf(welcome.self);
  EXPECT_TRUE(named.nspace.starts_with("canopy-tool0-")) << named.nspace;
  EXPECT_EQ(named.rank, 0u);
  EXPECT_EQ(OwnerOf(welcome.server), (ProcId{"canopy", 0}));
  EXPECT_EQ(welcome.segment_size, 0u);
  EXPECT_TRUE(client.fds.empty());
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 1u);
  EXPECT_TRUE(connected[0].is_tool);
  EXPECT_EQ(connected[0].uid, getuid());
  EXPECT_EQ(connected[0].gid, getgid());
  client.Send(FrameType::kFinalize, 5, "");
  Settle();
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
}

TEST_F(LocalEndpointTest, AToolCannotUseTheNameOfAnother) {
  TestClient first(path());
  first.ToolHello({"mine", 4});
  Settle();
  ASSERT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
  EXPECT_EQ(sink_.All<core::ClientConnected>()[0].proc, (ProcId{"mine", 4}));
  for (const auto& [claimed, status] :
       {std::pair(ProcId{"mine", 4}, kErrExists),
        std::pair(ProcId{"job", 0}, kErrInvalidCred)}) {
    TestClient other(path());
    other.ToolHello(claimed);
    Settle();
    EXPECT_EQ(StatusOf(other.Next()), status);
    EXPECT_FALSE(other.Pump());
  }
  first.Disconnect();
  Settle();
  TestClient next(path());
  next.ToolHello({"mine", 4});
  Settle();
  EXPECT_EQ(StatusOf(next.Next()), 0);
}

// ------------------------------------------------ tools of other machines ---

class AdoptingEndpointTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    data_.Reset(memfd_create("data", MFD_CLOEXEC));
    ASSERT_EQ(pwrite(data_.get(), "the data", 8, kFarAway), 8);
    options->segment = [this](const std::string&) -> std::optional<SegmentRef> {
      return SegmentRef{data_.get(), 5, nullptr};
    };
  }
  UniqueFd Adopted() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                         ends),
              0);
    endpoint_->Adopt(UniqueFd(ends[0]));
    return UniqueFd(ends[1]);
  }

  // The file is sparse.
  static constexpr off_t kFarAway = off_t{1} << 34;
  UniqueFd data_;
};

// The tool gets the data by messages; local clients find the same data in
// memory.
TEST_F(AdoptingEndpointTest, ARelayedToolIsServedWithoutDescriptors) {
  TestClient client(Adopted());
  client.ToolHello({"far", 1});
  Settle();
  EXPECT_EQ(StatusOf(client.Next()), 0);
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 1u);
  EXPECT_TRUE(connected[0].is_tool);
  EXPECT_EQ(connected[0].proc, (ProcId{"far", 1}));
  EXPECT_EQ(connected[0].uid, getuid());
  client.Send(FrameType::kGet, 6, GetOf({"job", 1}));
  Settle();
  Reply(0, 6, 0, "the value");
  Settle();
  const auto copy = client.Next();
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->header.type, static_cast<uint16_t>(FrameType::kSegment));
  Segment segment;
  ASSERT_TRUE(wire::Decode(copy->payload, &segment));
  EXPECT_EQ(segment.nspace, "job");
  EXPECT_EQ(segment.size, 5u);
  EXPECT_EQ(segment.file_size, uint64_t{kFarAway} + 8);
  ASSERT_EQ(segment.copy.size(), 1u);
  EXPECT_LE(segment.copy[0].offset, uint64_t{kFarAway});
  EXPECT_TRUE(segment.copy[0].bytes.ends_with("the data"));
  const auto answer = client.Next();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->header.type, static_cast<uint16_t>(FrameType::kReply));
  EXPECT_EQ(PayloadOf(answer), "the value");
  client.Send(FrameType::kGet, 7, GetOf({"job", 1}));
  Settle();
  Reply(0, 7, 0, "the same");
  Settle();
  EXPECT_EQ(PayloadOf(client.Next()), "the same");
  EXPECT_TRUE(client.fds.empty());
  client.Disconnect();
  Settle();
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
}

// A valid token does not make a relayed client a rank.
TEST_F(AdoptingEndpointTest, ARelayedClientCannotBeARank) {
  TestClient client(Adopted());
  client.Hello({"job", 0}, Token(0));
  Settle();
  EXPECT_EQ(StatusOf(client.Next()), kErrInvalidCred);
  EXPECT_FALSE(client.Pump());
  TestClient tool(Adopted());
  tool.ToolHello({"job", 0});
  Settle();
  EXPECT_EQ(StatusOf(tool.Next()), kErrInvalidCred);
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_EQ(log_.size(), 2u);
}

std::string IgnoredFrame(const std::string& function, const std::string& key) {
  return wire::Encode(Ignored{function, key});
}

TEST_F(LocalEndpointTest, DirectivesThatLibrariesIgnoreAreLoggedOnce) {
  const auto a = Connected(0);
  const auto b = Connected(1);
  a->Send(FrameType::kIgnored, 0, IgnoredFrame("PMIx_Get", "key\n"));
  b->Send(FrameType::kIgnored, 0, IgnoredFrame("PMIx_Get", "key\n"));
  Settle();
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("PMIx_Get is ignored"), std::string::npos) << log_[0];
  EXPECT_EQ(log_[0].find('\n'), std::string::npos) << log_[0];
  for (int i = 0; i < 1000; ++i) {
    b->Send(FrameType::kIgnored, 0,
            IgnoredFrame("PMIx_Get", std::to_string(i)));
    Settle();
  }
  EXPECT_EQ(log_.size(), 256u) << "programs choose the keys";
  EXPECT_TRUE(a->Pump());
  a->Send(FrameType::kIgnored, 0,
          IgnoredFrame("PMIx_Get", std::string(512, 'x')));
  Settle();
  EXPECT_FALSE(a->Pump()) << "no attribute has so long a key";
}

TEST_F(LocalEndpointTest, TheSocketIsPrivate) {
  struct stat info;
  ASSERT_EQ(stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(LocalEndpointTest, RequestsReachTheCoreAndAnswersReturn) {
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

TEST_F(LocalEndpointTest, TheAnswerContainsDataThatSegmentsDoNotHave) {
  auto client = Connected(0);
  client->Send(FrameType::kGet, 6, GetOf({"job", 1}, kPidKey));
  Settle();
  Reply(0, 6, 0, "number");
  Settle();
  EXPECT_EQ(PayloadOf(client->Next()), "number");
}

TEST_F(LocalEndpointTest, FramesMayArriveInAnyPieces) {
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

TEST_F(LocalEndpointTest, ALargeCommitArrivesInPieces) {
  auto client = Connected(0);
  Encoder encoder;
  encoder.PutKval("big", Value::ByteObject(std::string(3 << 20, 'b')).raw());
  const std::string kvals = encoder.Take();
  const std::string frame = TestClient::Frame(
      FrameType::kCommit, 0, wire::Encode(Commit{{{3, kvals}}}));
  for (size_t at = 0; at < frame.size(); at += 100000) {
    client->SendRaw(std::string_view(frame).substr(at, 100000));
    loop_.RunOnce(0);
  }
  Settle();
  const auto commits = sink_.All<core::Committed>();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].data[0].kvals.view(), kvals);
}

TEST_F(LocalEndpointTest, AnswersOfOneRoundAreSentTogether) {
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

TEST_F(LocalEndpointTest, AGetOfAnotherNamespaceSendsItsSegment) {
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
  Segment offer;
  ASSERT_TRUE(wire::Decode(segment->payload, &offer));
  EXPECT_EQ(offer.nspace, "other");
  EXPECT_EQ(offer.size, 4101u);
  EXPECT_EQ(client->fds.size(), 1u);
  EXPECT_EQ(PayloadOf(client->Next()), "");
  EXPECT_EQ(PayloadOf(client->Next()), "");
  EXPECT_EQ(PayloadOf(client->Next()), "kvals") << "owner not known";
  EXPECT_EQ(PayloadOf(client->Next()), "kvals") << "no segment";
  EXPECT_FALSE(client->Next().has_value());
}

std::string NspaceOf(const ReceivedFrame& frame) {
  Segment segment;
  EXPECT_TRUE(wire::Decode(frame.payload, &segment));
  return std::string(segment.nspace);
}

TEST_F(LocalEndpointTest, ASpawnIsAnsweredWithTheSegmentOfItsJob) {
  auto client = Connected(0);
  const std::string call = wire::Encode(Spawn{"call"});
  for (const uint64_t tag : {2, 3, 4}) {
    client->Send(FrameType::kSpawn, tag, call);
  }
  Settle();
  ASSERT_EQ(sink_.All<core::SpawnArrived>().size(), 3u);
  EXPECT_EQ(sink_.All<core::SpawnArrived>()[0].call.view(), "call");
  Reply(0, 2, 0, "child");
  Reply(0, 3, kErrNotSupported);
  Reply(0, 4, 0, "lost");
  Settle();
  const auto segment = client->Next();
  ASSERT_TRUE(segment.has_value());
  EXPECT_EQ(segment->header.type, static_cast<uint16_t>(FrameType::kSegment));
  EXPECT_EQ(NspaceOf(*segment), "child");
  EXPECT_EQ(PayloadOf(client->Next()), "child");
  EXPECT_EQ(StatusOf(client->Next()), kErrNotSupported);
  EXPECT_EQ(PayloadOf(client->Next()), "lost") << "no segment here";
  EXPECT_FALSE(client->Next().has_value());
}

TEST_F(LocalEndpointTest, AConnectIsAnsweredWithTheSegmentsOfItsJobs) {
  auto client = Connected(0);
  Collective connect;
  connect.series = {CollectiveOp::kConnect,
                    {},
                    {{"job", kRankWildcard},
                     {"other", 0},
                     {"other", 1},
                     {"lost", kRankWildcard}}};
  for (const uint64_t tag : {2, 3}) {
    client->Send(FrameType::kCollective, tag, wire::Encode(connect));
  }
  Settle();
  Reply(0, 2, kErrTimeout);
  Reply(0, 3, 0);
  Settle();
  EXPECT_EQ(StatusOf(client->Next()), kErrTimeout);
  const auto segment = client->Next();
  ASSERT_TRUE(segment.has_value());
  EXPECT_EQ(segment->header.type, static_cast<uint16_t>(FrameType::kSegment));
  EXPECT_EQ(NspaceOf(*segment), "other");
  EXPECT_EQ(StatusOf(client->Next()), 0) << "and there is none of the third";
  EXPECT_FALSE(client->Next().has_value());
}

// A connection does not keep the names of dropped jobs, because a process may
// spawn any number of jobs.
TEST_F(LocalEndpointTest, TheSegmentOfARespawnedNamespaceIsSentAgain) {
  auto client = Connected(0);
  const std::string call = wire::Encode(Spawn{"call"});
  for (const uint64_t tag : {2, 3}) {
    client->Send(FrameType::kSpawn, tag, call);
    Settle();
    Reply(0, tag, 0, "child");
    Settle();
    const auto segment = client->Next();
    EXPECT_EQ(segment->header.type, static_cast<uint16_t>(FrameType::kSegment));
    EXPECT_EQ(PayloadOf(client->Next()), "child");
    endpoint_->DropJob("child");
  }
}

TEST_F(LocalEndpointTest, TheNumberOfPendingSpawnsIsLimited) {
  constexpr uint64_t kMost = 1 << 10;
  auto client = Connected(0);
  const std::string call = wire::Encode(Spawn{"call"});
  // The test sends few requests at once, so that the socket accepts all of
  // them.
  for (uint64_t tag = 1; tag <= kMost + 1; ++tag) {
    client->Send(FrameType::kSpawn, tag, call);
    if (tag % 32 == 0) Settle();
  }
  Settle();
  const auto refused = client->Next();
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->header.tag, kMost + 1);
  EXPECT_EQ(StatusOf(refused), kErrOutOfResource);
  EXPECT_EQ(sink_.All<core::SpawnArrived>().size(), kMost);
}

TEST_F(LocalEndpointTest, TheAnswerContainsDataThatDidNotFitIntoTheSegment) {
  auto client = Connected(0);
  client->Send(FrameType::kGet, 2, GetOf({"full", 0}));
  Settle();
  Reply(0, 2, 0, "kvals");
  Settle();
  EXPECT_EQ(client->Next()->header.type,
            static_cast<uint16_t>(FrameType::kSegment));
  EXPECT_EQ(PayloadOf(client->Next()), "kvals");
}

TEST_F(LocalEndpointTest, AnEventIsSentWithAllItsFields) {
  auto client = Connected(0);
  const core::ClientEvent event{
      {{"job", 2}, 7}, -200, {"job", 2}, 4, Bytes("info")};
  endpoint_->Notify(
      {IdOf(0), std::make_shared<const core::ClientEvent>(event)});
  Settle();
  const auto frame = client->Next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->header.type, static_cast<uint16_t>(FrameType::kEvent));
  Event received;
  ASSERT_TRUE(wire::Decode(frame->payload, &received));
  EXPECT_EQ(received.status, -200);
  EXPECT_EQ(OwnerOf(received.source), (ProcId{"job", 2}));
  EXPECT_EQ(received.range, 4u);
  EXPECT_EQ(received.info, "info");
  EXPECT_EQ(OwnerOf(received.raiser), event.id.raiser);
  EXPECT_EQ(received.number, 7u);
}

TEST_F(LocalEndpointTest, TheEndOfAConnectionIsReportedOnce) {
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

TEST_F(LocalEndpointTest, CloseSendsPendingAnswersAndLogsTheReason) {
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

TEST_F(LocalEndpointTest, LibrariesOfAnotherVersionAreRefused) {
  for (const uint32_t version : {kProtocolVersion - 1, kProtocolVersion + 1}) {
    TestClient client(path());
    client.Hello({"job", 0}, Token(0), version);
    Settle();
    EXPECT_EQ(StatusOf(client.Next()), kErrHandshakeFailed);
    EXPECT_FALSE(client.Pump());
    EXPECT_NE(log_.back().find("its library speaks protocol version " +
                               std::to_string(version) + ", and this agent 7"),
              std::string::npos)
        << log_.back();
  }
}

// The hello of version 6 began with the version itself.
TEST_F(LocalEndpointTest, AMalformedHelloIsRefused) {
  TestClient client(path());
  client.Send(FrameType::kHello, 1, "\6\3job");
  Settle();
  EXPECT_EQ(StatusOf(client.Next()), kErrUnpackFailure);
  EXPECT_FALSE(client.Pump());
}

TEST_F(LocalEndpointTest, AnAnswerIsSentOnTheConnectionOfItsRequest) {
  auto first = Connected(0);
  auto second = Connected(0);
  EXPECT_NE(IdOf(0), IdOf(1));
  Reply(1, 4, 0);
  Settle();
  EXPECT_FALSE(first->Next().has_value());
  EXPECT_TRUE(second->Next().has_value());
}

TEST_F(LocalEndpointTest, TheEndOfAJobClosesItsConnections) {
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

TEST_F(LocalEndpointTest, AFileThatReplacedTheSocketIsNotRemoved) {
  ASSERT_EQ(unlink(path().c_str()), 0);
  const int fd = open(path().c_str(), O_CREAT | O_WRONLY, 0600);
  close(fd);
  endpoint_.reset();
  EXPECT_EQ(unlink(path().c_str()), 0);
}

TEST(LocalEndpointStartTest, APathThatIsTooLongIsRejected) {
  EventLoop loop;
  FakeSink sink;
  LocalOptions options;
  options.environment.socket_path = "/tmp/" + std::string(150, 'x');
  LocalEndpoint endpoint(&loop, &sink, std::move(options));
  EXPECT_EQ(endpoint.Start().code(), kErrBadParam);
}

// An endpoint that consults the server's host about each newcomer. The host
// decides at once or later.
class AskingEndpointTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->ask = [this](const endpoint::Newcomer& who,
                          std::function<void(endpoint::Verdict)> done) {
      asked_.push_back(who);
      done_ = std::move(done);
    };
  }
  std::vector<endpoint::Newcomer> asked_;
  std::function<void(endpoint::Verdict)> done_;
};

TEST_F(AskingEndpointTest, ARankIsServedWhenTheHostHasAnswered) {
  TestClient client(path());
  client.Hello({"job", 0}, Token(0));
  Settle();
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].proc, (ProcId{"job", 0}));
  EXPECT_FALSE(client.Next().has_value());
  EXPECT_TRUE(sink_.All<core::ClientConnected>().empty());
  done_({});
  Settle();
  EXPECT_EQ(StatusOf(client.Next()), 0);
  EXPECT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
}

TEST_F(AskingEndpointTest, ARefusedClientReceivesTheReason) {
  TestClient client(path());
  client.Hello({"job", 0}, Token(0));
  Settle();
  done_({kErrNoPermissions, {}});
  Settle();
  EXPECT_EQ(StatusOf(client.Next()), kErrNoPermissions);
  EXPECT_FALSE(client.Pump());
  EXPECT_TRUE(sink_.inputs.empty());
}

TEST_F(AskingEndpointTest, TheHostIsNotConsultedAboutAnUnidentifiedClient) {
  TestClient client(path());
  client.Hello({"job", 0}, "another token");
  TestClient stranger(path());
  stranger.ToolHello({"job", 0});
  Settle();
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

TEST_F(AskingEndpointTest, AClientThatLeavesBeforeTheHostAnswersIsForgotten) {
  TestClient client(path());
  client.Hello({"job", 0}, Token(0));
  Settle();
  client.Disconnect();
  Settle();
  done_({});
  Settle();
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

TEST_F(AskingEndpointTest, RequestsBeforeTheWelcomeEndTheConnection) {
  TestClient client(path());
  client.Hello({"job", 0}, Token(0));
  client.Hello({"job", 0}, Token(0));
  Settle();
  EXPECT_EQ(asked_.size(), 1u);
  EXPECT_FALSE(client.Pump());
}

TEST_F(AskingEndpointTest, TheHostIsConsultedAboutRelayedTools) {
  int ends[2];
  ASSERT_EQ(
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
      0);
  endpoint_->Adopt(UniqueFd(ends[0]));
  TestClient far{UniqueFd(ends[1])};
  far.ToolHello({"far", 1});
  Settle();
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_TRUE(asked_[0].is_tool);
  EXPECT_EQ(asked_[0].uid, getuid());
  done_({kErrNoPermissions, {}});
  Settle();
  EXPECT_EQ(StatusOf(far.Next()), kErrNoPermissions);
  EXPECT_FALSE(far.Pump());
}

TEST_F(AskingEndpointTest, AToolGetsTheNameThatTheHostGives) {
  TestClient nameless(path());
  nameless.ToolHello({});
  Settle();
  done_({0, {"given", 2}});
  TestClient named(path());
  named.ToolHello({"own", 1});
  Settle();
  done_({0, {"given", 3}});
  Settle();
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 2u);
  EXPECT_EQ(connected[0].proc, (ProcId{"given", 2}));
  EXPECT_EQ(connected[1].proc, (ProcId{"own", 1}));
  TestClient third(path());
  third.ToolHello({});
  Settle();
  done_({0, {"job", 0}});
  Settle();
  EXPECT_EQ(StatusOf(third.Next()), kErrExists);
}

}  // namespace
}  // namespace canopy::local
