// An endpoint with one job, and clients that speak its protocol directly.
#ifndef CANOPY_SERVER_LOCAL_LOCAL_ENDPOINT_TEST_BASE_H_
#define CANOPY_SERVER_LOCAL_LOCAL_ENDPOINT_TEST_BASE_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/describe.h"
#include "common/local/data.h"
#include "common/local/greeting.h"
#include "common/local/reply.h"
#include "common/posix/unix_socket.h"
#include "server/local/local_endpoint.h"
#include "server/ports/fake_sink.h"

namespace canopy::local {

struct ReceivedFrame {
  FrameHeader header;
  std::string payload;
};

// A client that sends and receives frames of the protocol.
class TestClient {
 public:
  explicit TestClient(const std::string& path) {
    auto fd = ConnectUnix(path);
    EXPECT_TRUE(fd.ok());
    if (fd.ok()) fd_ = std::move(*fd);
  }
  // Uses a connection that the endpoint has adopted.
  explicit TestClient(UniqueFd fd) : fd_(std::move(fd)) {}

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
    Send(FrameType::kHello, 1,
         wire::Encode(local::Hello{version, ViewOf(proc), token, "test"}));
  }

  void ToolHello(const ProcId& claimed) {
    Send(FrameType::kToolHello, 1,
         wire::Encode(
             local::Hello{kProtocolVersion, ViewOf(claimed), {}, "test"}));
  }

  // Reads the available data. Returns false at the end of the stream.
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

inline JobSpec SpecOfTest(const std::string& nspace) {
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
    // A constant time makes turns independent of the machine's speed.
    options.budget.now = [] { return int64_t{1}; };
    options.environment.socket_path = path();
    options.environment.self = 0;
    options.server = {"canopy", 0};
    options.segment =
        [this](const std::string& ns) -> std::optional<SegmentRef> {
      if (ns == "lost") return std::nullopt;
      return SegmentRef{null_.get(), 4096 + ns.size(), nullptr};
    };
    options.holds = [](const ProcId& proc) { return proc.nspace != "full"; };
    options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
    Tune(&options);
    endpoint_.emplace(&loop_, &sink_, std::move(options));
    ASSERT_TRUE(endpoint_->Start().ok());
    AddJob("job");
  }
  void AddJob(const std::string& nspace) {
    const JobSpec spec = SpecOfTest(nspace);
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
  // Lets the endpoint read everything that was sent.
  void Settle() {
    for (int i = 0; i < 8; ++i) loop_.RunOnce(0);
  }
  std::unique_ptr<TestClient> Connected(Rank rank) {
    auto client = std::make_unique<TestClient>(path());
    client->Hello({"job", rank}, Token(rank));
    Settle();
    EXPECT_EQ(StatusOf(client->Next()), 0);
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
  static local::Reply ReplyIn(const ReceivedFrame& frame) {
    local::Reply reply;
    EXPECT_TRUE(wire::Decode(frame.payload, &reply));
    return reply;
  }
  static int StatusOf(const std::optional<ReceivedFrame>& frame) {
    return frame ? ReplyIn(*frame).status : 9999;
  }
  static std::string PayloadOf(const std::optional<ReceivedFrame>& frame) {
    return frame ? std::string(ReplyIn(*frame).payload) : "none";
  }
  static std::string GetOf(const ProcId& target, std::string_view key = "key") {
    return wire::Encode(Get{ViewOf(target), key, false, false, 0});
  }

  EventLoop loop_;
  FakeSink sink_;
  std::string directory_;
  UniqueFd null_;
  std::vector<std::string> log_;
  core::PrepareLocal prepare_;
  std::optional<LocalEndpoint> endpoint_;
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_LOCAL_ENDPOINT_TEST_BASE_H_
