#include "server/net/network_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/net/peer_address.h"

namespace canopy::net {
namespace {

constexpr int64_t kMillisecond = 1000 * 1000;
constexpr int64_t kHour = 3600 * 1000 * kMillisecond;
constexpr uid_t kStranger = 65534;

// The receiver keeps the connections that it gets.
class NetworkListenerTest : public ::testing::Test {
 protected:
  NetworkListenerTest() {
    getrlimit(RLIMIT_NOFILE, &before_);
    Make({.timeout_ns = kHour, .per_source = 3, .per_trusted = 6, .total = 6});
  }
  ~NetworkListenerTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  void Make(const SilenceLimits& limits) {
    listener_.reset();
    NetworkListener::Options options;
    options.limits = limits;
    options.limits.patience = 0;
    options.unacknowledged_ms = 1234;
    options.defer_s = defer_s_;
    options.take = [this](int, UniqueFd fd) {
      taken_.push_back(std::move(fd));
    };
    options.log = [this](const std::string& line) { log_.push_back(line); };
    listener_.emplace(&loop_, std::move(options));
    ASSERT_TRUE(listener_->Listen("127.0.0.1:0").ok());
    port_ = listener_->port();
  }

  UniqueFd Dial() const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in in = {};
    in.sin_family = AF_INET;
    in.sin_port = htons(port_);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&in), sizeof in),
              0);
    return fd;
  }
  std::vector<UniqueFd> Dial(int count) const {
    std::vector<UniqueFd> all;
    for (int i = 0; i < count; ++i) all.push_back(Dial());
    return all;
  }
  void Settle() {
    for (int i = 0; i < 4; ++i) loop_.RunOnce(0);
  }
  void Until(const std::function<bool()>& done) {
    const int64_t deadline = EventLoop::Now() + 10000 * kMillisecond;
    while (!done() && EventLoop::Now() < deadline) loop_.RunOnce(10);
    EXPECT_TRUE(done());
  }
  static bool IsOpen(const UniqueFd& fd) {
    char byte;
    return recv(fd.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }
  static int NumOpen(const std::vector<UniqueFd>& all) {
    return static_cast<int>(std::ranges::count_if(all, IsOpen));
  }
  static std::string NameOf(const UniqueFd& dialled) {
    sockaddr_storage own = {};
    socklen_t size = sizeof own;
    getsockname(dialled.get(), reinterpret_cast<sockaddr*>(&own), &size);
    return PeerText(own);
  }
  int OptionOf(int option) const {
    int value = 0;
    socklen_t size = sizeof value;
    getsockopt(taken_.at(0).get(), IPPROTO_TCP, option, &value, &size);
    return value;
  }
  void LimitDescriptors(rlim_t most) const {
    rlimit limit = before_;
    limit.rlim_cur = most;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

  rlimit before_ = {};
  EventLoop loop_;
  int defer_s_ = 0;
  std::vector<UniqueFd> taken_;
  std::vector<std::string> log_;
  std::optional<NetworkListener> listener_;
  uint16_t port_ = 0;
};

TEST_F(NetworkListenerTest, AcceptsConnectionsWhileItIsOpen) {
  const UniqueFd early = Dial();
  Settle();
  EXPECT_TRUE(taken_.empty());
  listener_->Open();
  Settle();
  ASSERT_EQ(taken_.size(), 1u);
  EXPECT_NE(fcntl(taken_[0].get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(taken_[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(OptionOf(TCP_NODELAY), 0);
  EXPECT_EQ(OptionOf(TCP_USER_TIMEOUT), 1234);
  listener_->Close();
  EXPECT_EQ(listener_->port(), 0);
  EXPECT_TRUE(IsOpen(early));
}

TEST_F(NetworkListenerTest, AnAddressInUseIsAnError) {
  NetworkListener other(&loop_, {[](int, UniqueFd) {}, nullptr});
  EXPECT_EQ(other.Listen("127.0.0.1:" + std::to_string(port_)).code(),
            kErrUnreach);
}

TEST_F(NetworkListenerTest, EndsSilentConnectionsAfterTheTimeLimit) {
  Make({.timeout_ns = 20 * kMillisecond});
  listener_->Open();
  const UniqueFd silent = Dial();
  const UniqueFd heard = Dial();
  Until([this] { return taken_.size() == 2; });
  listener_->Heard(NameOf(heard));
  listener_->Heard("10.1.2.3:80");
  Until([this] { return listener_->num_silent() == 0; });
  EXPECT_FALSE(IsOpen(silent));
  EXPECT_TRUE(IsOpen(heard));
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find(NameOf(silent)), std::string::npos) << log_[0];
}

TEST_F(NetworkListenerTest, AtTheLimitTheOldestSilentConnectionIsClosed) {
  listener_->Open();
  const std::vector<UniqueFd> held = Dial(6);
  Settle();
  EXPECT_EQ(NumOpen(held), 6);
  const UniqueFd next = Dial();
  Settle();
  EXPECT_EQ(NumOpen(held), 5);
  EXPECT_FALSE(IsOpen(held[0]));
  EXPECT_TRUE(IsOpen(next));
}

TEST_F(NetworkListenerTest, AConnectionThatHasSentDataIsNotClosedAtTheLimit) {
  listener_->Open();
  std::vector<UniqueFd> held = Dial(6);
  ASSERT_EQ(send(held[0].get(), "hello", 5, MSG_NOSIGNAL), 5);
  Settle();
  char bytes[5];
  ASSERT_EQ(recv(taken_[0].get(), bytes, sizeof bytes, 0), 5);
  held.push_back(Dial());
  Settle();
  EXPECT_TRUE(IsOpen(held[0]));
  EXPECT_FALSE(IsOpen(held[1]));
}

TEST_F(NetworkListenerTest, TheKernelDefersConnectionsWithoutData) {
  defer_s_ = 60;
  Make({.timeout_ns = kHour});
  listener_->Open();
  const UniqueFd silent = Dial();
  const UniqueFd speaking = Dial();
  ASSERT_EQ(send(speaking.get(), "hello", 5, MSG_NOSIGNAL), 5);
  Until([this] { return taken_.size() == 1; });
  char bytes[5];
  EXPECT_EQ(recv(taken_[0].get(), bytes, sizeof bytes, 0), 5);
  EXPECT_TRUE(IsOpen(silent));
}

TEST_F(NetworkListenerTest, AConnectionClosedByItsOwnerIsForgotten) {
  Make({.timeout_ns = 20 * kMillisecond});
  listener_->Open();
  const UniqueFd gone = Dial();
  Until([this] { return taken_.size() == 1; });
  // The number of the descriptor now belongs to another file.
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  ASSERT_GE(dup2(pair[0], taken_[0].get()), 0);
  Until([this] { return listener_->num_silent() == 0; });
  EXPECT_TRUE(IsOpen(taken_[0]));
  EXPECT_TRUE(log_.empty());
  close(pair[0]);
  close(pair[1]);
}

TEST_F(NetworkListenerTest, AnotherUsersConnectionsDoNotCloseOurOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  listener_->Open();
  int ready[2];
  int over[2];
  ASSERT_EQ(pipe(ready) + pipe(over), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(over[1]);
    if (setresuid(kStranger, kStranger, kStranger) != 0) _exit(1);
    const std::vector<UniqueFd> held = Dial(20);
    char byte = 'x';
    _exit(write(ready[1], &byte, 1) != 1 || read(over[0], &byte, 1) != 0);
  }
  char byte;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  Settle();
  // All connections were accepted, and three are still silent.
  EXPECT_EQ(taken_.size(), 20u);
  EXPECT_EQ(listener_->num_silent(), 3u);
  const std::vector<UniqueFd> own = Dial(3);
  Settle();
  EXPECT_EQ(NumOpen(own), 3);
  EXPECT_EQ(listener_->num_silent(), 6u);
  ASSERT_FALSE(log_.empty());
  EXPECT_NE(log_[0].find("uid 65534"), std::string::npos) << log_[0];
  for (const int fd : {ready[0], ready[1], over[0], over[1]}) close(fd);
  waitpid(child, nullptr, 0);
}

TEST_F(NetworkListenerTest, TheLastDescriptorsAreNotUsedForConnections) {
  Make({.timeout_ns = kHour});
  listener_->Open();
  std::vector<UniqueFd> held = Dial(10);
  Settle();
  EXPECT_EQ(NumOpen(held), 10);
  // Some descriptors are free, all of them in the last quarter below the limit.
  const rlim_t next = static_cast<rlim_t>(UniqueFd(dup(0)).get());
  LimitDescriptors((next + 2) * 16 / 13);
  std::vector<UniqueFd> more = Dial(1);
  Settle();
  EXPECT_TRUE(IsOpen(more[0]));
  EXPECT_EQ(NumOpen(held), 10);
  // Only the last descriptor is free.
  LimitDescriptors(next + 4);
  more.push_back(Dial());
  Settle();
  EXPECT_FALSE(IsOpen(more[1]));
  EXPECT_EQ(NumOpen(held), 9);
  // Descriptors are available again.
  LimitDescriptors(before_.rlim_cur);
  more.push_back(Dial());
  Settle();
  EXPECT_TRUE(IsOpen(more[2]));
}

TEST_F(NetworkListenerTest, ConnectionsAreAcceptedAgainWhenDescriptorsAreFree) {
  listener_->Open();
  const std::vector<UniqueFd> refused = Dial(2);
  LimitDescriptors(static_cast<rlim_t>(UniqueFd(dup(0)).get()));
  Settle();
  LimitDescriptors(before_.rlim_cur);
  EXPECT_EQ(NumOpen(refused), 0);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("no descriptor left"), std::string::npos) << log_[0];
  const UniqueFd next = Dial();
  Settle();
  EXPECT_TRUE(IsOpen(next));
}

}  // namespace
}  // namespace canopy::net
