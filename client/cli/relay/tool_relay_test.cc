// Tests a relay with a real gRPC server, and with sockets as tools and
// endpoint.
#include "client/cli/relay/tool_relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/posix/unix_socket.h"
#include "server/relay/relay_service.h"

namespace canopy::cli {
namespace {

constexpr int64_t kSecond = int64_t{1000} * 1000 * 1000;
// More bytes than all buffers between the two ends can hold.
constexpr size_t kMuch = size_t{64} << 20;

class ToolRelayTest : public ::testing::Test {
 protected:
  ToolRelayTest() { EXPECT_NE(mkdtemp(directory_), nullptr); }
  ~ToolRelayTest() override {
    relay_.reset();
    StopAgent();
    std::filesystem::remove_all(directory_);
  }

  void StartAgent(relay::RelayOptions options = {}) {
    options.server = {"srv", 3};
    options.host = "far.host";
    options.adopt_libpmix = [this](UniqueFd fd) {
      libpmix_.push_back(std::move(fd));
    };
    options.adopt_openpmix = [this](UniqueFd fd) {
      openpmix_.push_back(std::move(fd));
    };
    service_.emplace(&loop_, std::move(options));
    grpc::ServerBuilder builder;
    builder.AddListeningPort(Address(), grpc::InsecureServerCredentials());
    builder.RegisterService(service_->service());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  // Stops the agent as if its process ended.
  void StopAgent() {
    libpmix_.clear();
    openpmix_.clear();
    if (server_ == nullptr) return;
    // Calls end in the loop, so it must run during the shutdown.
    std::atomic<bool> stopped = false;
    std::thread shuts([&] {
      server_->Shutdown(std::chrono::system_clock::now());
      stopped = true;
    });
    Until([&] { return stopped.load(); });
    shuts.join();
    for (int i = 0; i < 4; ++i) loop_.RunOnce(0);
    server_.reset();
    service_.reset();
  }
  std::string Address() const { return "unix:" + At("agent"); }
  std::string At(const std::string& name) const {
    return std::string(directory_) + "/" + name;
  }
  void StartRelay(ToolRelayOptions options = {}) {
    options.directory = directory_;
    options.report = [this](const std::string& l) { reports_.push_back(l); };
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
    relay_ = std::make_unique<ToolRelay>(
        &loop_,
        relay::v1::ToolRelay::NewStub(grpc::CreateCustomChannel(
            Address(), grpc::InsecureChannelCredentials(), args)),
        std::move(options));
    relay::v1::DescribeReply agent;
    agent.set_nspace("srv");
    agent.set_rank(3);
    agent.set_host("far.host");
    ASSERT_TRUE(relay_->Start(agent).ok());
  }
  template <typename Condition>
  void Until(Condition condition) {
    const int64_t deadline = EventLoop::Now() + 20 * kSecond;
    while (!condition() && EventLoop::Now() < deadline) loop_.RunOnce(5);
    ASSERT_TRUE(condition());
  }
  static void MakeNonBlocking(const UniqueFd& fd) {
    fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  }
  UniqueFd Local() {
    Result<UniqueFd> fd = ConnectUnix(At("clients.sock"));
    EXPECT_TRUE(fd.ok());
    MakeNonBlocking(*fd);
    return *std::move(fd);
  }
  UniqueFd Loopback() {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string& uri = relay_->uri();
    address.sin_port =
        htons(static_cast<uint16_t>(std::stoi(uri.substr(uri.rfind(':') + 1))));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address),
                      sizeof address),
              0);
    MakeNonBlocking(fd);
    return fd;
  }
  static void Send(const UniqueFd& fd, const std::string& bytes) {
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Waits for `size` bytes, or the end.
  std::string Receive(const UniqueFd& fd, size_t size) {
    std::string bytes;
    bool ended = false;
    Until([&] {
      char buffer[4096];
      ssize_t n = 0;
      while (!ended && bytes.size() < size && n >= 0) {
        n = recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (n > 0) bytes.append(buffer, static_cast<size_t>(n));
        ended = n == 0 || (n < 0 && errno != EAGAIN);
      }
      return ended || bytes.size() >= size;
    });
    if (ended) bytes += "|end";
    return bytes;
  }
  // Sends until the other end would have to read. Returns the number of bytes
  // sent.
  size_t SendUntilFull(const UniqueFd& fd) {
    const std::string bytes(64 << 10, 'x');
    size_t sent = 0;
    int idle = 0;
    while (sent < kMuch && idle < 100) {
      const ssize_t n =
          send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      idle = n > 0 ? 0 : idle + 1;
      if (n > 0) sent += static_cast<size_t>(n);
      loop_.RunOnce(n > 0 ? 0 : 2);
    }
    return sent;
  }

  char directory_[32] = "/tmp/canopy-relay-XXXXXX";
  EventLoop loop_;
  std::optional<relay::RelayService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ToolRelay> relay_;
  std::vector<UniqueFd> libpmix_;   // sockets that the endpoints have adopted
  std::vector<UniqueFd> openpmix_;  // sockets that the endpoints have adopted
  std::vector<std::string> reports_;
};

TEST_F(ToolRelayTest, TheAgentDescribesItself) {
  StartAgent();
  auto stub = relay::v1::ToolRelay::NewStub(
      grpc::CreateChannel(Address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  relay::v1::DescribeReply reply;
  ASSERT_TRUE(
      stub->Describe(&context, relay::v1::DescribeRequest(), &reply).ok());
  EXPECT_EQ(reply.nspace(), "srv");
  EXPECT_EQ(reply.rank(), 3u);
  EXPECT_EQ(reply.host(), "far.host");
}

TEST_F(ToolRelayTest, EachKindOfToolIsConnectedToItsEndpoint) {
  StartAgent();
  StartRelay();
  const UniqueFd ours = Local();
  const UniqueFd theirs = Loopback();
  Until([this] { return libpmix_.size() == 1 && openpmix_.size() == 1; });
  Send(ours, "hello");
  Send(theirs, "greeting");
  EXPECT_EQ(Receive(libpmix_[0], 5), "hello");
  EXPECT_EQ(Receive(openpmix_[0], 8), "greeting");
  Send(libpmix_[0], "welcome");
  EXPECT_EQ(Receive(ours, 7), "welcome");
  // The kernel reports the agent's own user for the connection.
  const Result<PeerCredentials> peer = GetPeerCredentials(libpmix_[0].get());
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->uid, geteuid());
  EXPECT_EQ(relay_->num_connections(), 2u);
}

TEST_F(ToolRelayTest, TheRelayWritesAndRemovesItsFiles) {
  StartAgent();
  StartRelay();
  std::ifstream in(At("pmix.far.host.tool"));
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(content.starts_with("srv.3;tcp4://127.0.0.1:")) << content;
  EXPECT_TRUE(content.ends_with("canopy:" + At("clients.sock") + "\n"));
  EXPECT_TRUE(std::filesystem::exists(relay_->file()));
  relay_.reset();
  EXPECT_FALSE(std::filesystem::exists(At("pmix.far.host.tool")));
  EXPECT_FALSE(std::filesystem::exists(At("clients.sock")));
}

TEST_F(ToolRelayTest, WhenOneSideEndsTheOtherIsClosedToo) {
  StartAgent();
  StartRelay();
  UniqueFd leaves = Local();
  Until([this] { return libpmix_.size() == 1; });
  Send(leaves, "bye");
  leaves.Reset();
  EXPECT_EQ(Receive(libpmix_[0], 10), "bye|end");
  libpmix_[0].Reset();
  Until([this] { return relay_->num_connections() == 0; });
  const UniqueFd stays = Local();
  Until([this] { return libpmix_.size() == 2; });
  Send(libpmix_[1], "refused");
  libpmix_[1].Reset();
  EXPECT_EQ(Receive(stays, 20), "refused|end");
  Until([this] { return relay_->num_connections() == 0; });
  EXPECT_TRUE(reports_.empty());
}

TEST_F(ToolRelayTest, AnAnswerIsForwardedAfterAHalfClose) {
  StartAgent();
  StartRelay();
  const UniqueFd tool = Local();
  Until([this] { return libpmix_.size() == 1; });
  shutdown(tool.get(), SHUT_WR);
  EXPECT_EQ(Receive(libpmix_[0], 10), "|end");
  Send(libpmix_[0], "answer");
  libpmix_[0].Reset();
  EXPECT_EQ(Receive(tool, 20), "answer|end");
}

// An end that does not read stops the sender after some megabytes at most.
TEST_F(ToolRelayTest, ASenderIsBlockedWhileTheOtherSideDoesNotRead) {
  StartAgent();
  StartRelay();
  const UniqueFd tool = Local();
  Until([this] { return libpmix_.size() == 1; });
  EXPECT_LT(SendUntilFull(tool), kMuch / 2);
  EXPECT_LT(SendUntilFull(libpmix_[0]), kMuch / 2);
  // Other connections are served meanwhile.
  const UniqueFd other = Local();
  Until([this] { return libpmix_.size() == 2; });
  Send(other, "hello");
  EXPECT_EQ(Receive(libpmix_[1], 5), "hello");
}

TEST_F(ToolRelayTest, TheAgentLimitsItsConnections) {
  relay::RelayOptions few;
  few.max_connections = 1;
  StartAgent(std::move(few));
  StartRelay();
  UniqueFd first = Local();
  Until([this] { return libpmix_.size() == 1; });
  const UniqueFd second = Loopback();
  EXPECT_EQ(Receive(second, 1), "|end");
  Until([this] { return !reports_.empty(); });
  EXPECT_NE(reports_[0].find("as many relayed connections"), std::string::npos)
      << reports_[0];
  EXPECT_TRUE(openpmix_.empty());
  first.Reset();
  libpmix_[0].Reset();
  Until([this] { return relay_->num_connections() == 0; });
  // The agent may notice the end of a connection a little later than the relay.
  UniqueFd third;
  Until([&] {
    if (third) return !openpmix_.empty();
    third = Loopback();
    for (int i = 0; i < 40 && openpmix_.empty(); ++i) loop_.RunOnce(5);
    if (openpmix_.empty()) third.Reset();
    return !openpmix_.empty();
  });
}

TEST_F(ToolRelayTest, TheRelayLimitsItsConnections) {
  StartAgent();
  ToolRelayOptions few;
  few.max_connections = 1;
  StartRelay(std::move(few));
  const UniqueFd first = Local();
  Until([this] { return libpmix_.size() == 1; });
  const UniqueFd second = Local();
  EXPECT_EQ(Receive(second, 1), "|end");
  EXPECT_EQ(reports_.size(), 1u);
}

TEST_F(ToolRelayTest, ConnectionsEndWithTheAgentAndItsSuccessorServesNewOnes) {
  StartAgent();
  StartRelay();
  const UniqueFd tool = Local();
  Until([this] { return libpmix_.size() == 1; });
  StopAgent();
  EXPECT_EQ(Receive(tool, 1), "|end");
  const UniqueFd early = Local();
  EXPECT_EQ(Receive(early, 1), "|end");
  Until([this] { return !reports_.empty(); });
  EXPECT_NE(reports_[0].find("was lost"), std::string::npos) << reports_[0];
  StartAgent();
  Until([this] {
    if (!libpmix_.empty()) return true;
    const UniqueFd next = Local();
    for (int i = 0; i < 20 && libpmix_.empty(); ++i) loop_.RunOnce(5);
    return !libpmix_.empty();
  });
}

TEST_F(ToolRelayTest, AConnectionEndsIfTheAgentIsSilent) {
  relay::RelayOptions silent;
  silent.bridge.beat_ns = 100 * kSecond;
  StartAgent(std::move(silent));
  ToolRelayOptions options;
  options.bridge.beat_ns = kSecond / 100;
  options.bridge.silence_ns = kSecond / 10;
  StartRelay(std::move(options));
  const UniqueFd tool = Local();
  Until([this] { return libpmix_.size() == 1; });
  EXPECT_EQ(Receive(tool, 1), "|end");
  Until([this] { return relay_->num_connections() == 0; });
}

// The relay never sends a piece above the limit, but a caller with valid
// credentials can.
TEST_F(ToolRelayTest, APieceThatIsTooLongEndsItsConnection) {
  StartAgent();
  auto stub = relay::v1::ToolRelay::NewStub(
      grpc::CreateChannel(Address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  auto stream = stub->CarryLibpmix(&context);
  relay::v1::Piece piece;
  piece.set_data(std::string(relay::kMaxPiece + 1, 'x'));
  ASSERT_TRUE(stream->Write(piece));
  Until([this] { return libpmix_.size() == 1; });
  EXPECT_EQ(Receive(libpmix_[0], 1), "|end");
}

TEST_F(ToolRelayTest, AnAgentWhoseNameIsNoFileNameIsRefused) {
  ToolRelayOptions options;
  options.directory = directory_;
  ToolRelay relay(&loop_,
                  relay::v1::ToolRelay::NewStub(grpc::CreateChannel(
                      Address(), grpc::InsecureChannelCredentials())),
                  std::move(options));
  for (const char* name : {"", "../x", "a\nb", "a;b"}) {
    relay::v1::DescribeReply agent;
    agent.set_nspace(name);
    EXPECT_EQ(relay.Start(agent).code(), kErrBadParam) << name;
  }
}

}  // namespace
}  // namespace canopy::cli
