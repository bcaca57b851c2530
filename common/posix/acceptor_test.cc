#include "common/posix/acceptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace canopy {
namespace {

class AcceptorTest : public ::testing::Test {
 protected:
  AcceptorTest() {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    address_.sun_family = AF_UNIX;
    const std::string name = "acceptor_test." + std::to_string(getpid());
    // The address is in the abstract name space, so there is no file to remove.
    std::copy(name.begin(), name.end(), address_.sun_path + 1);
    size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                   name.size());
    EXPECT_EQ(bind(fd.get(), Address(), size_), 0);
    EXPECT_EQ(listen(fd.get(), 256), 0);
    listener_ = std::move(fd);
    acceptor_ = Acceptor(UniqueFd(dup(listener_.get())));
    getrlimit(RLIMIT_NOFILE, &limit_);
  }
  ~AcceptorTest() override { setrlimit(RLIMIT_NOFILE, &limit_); }

  const sockaddr* Address() const {
    return reinterpret_cast<const sockaddr*>(&address_);
  }

  UniqueFd Dial() const {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), Address(), size_), 0);
    return fd;
  }

  bool Accept() {
    return acceptor_.Accept(
        [this](UniqueFd fd) { accepted_.push_back(std::move(fd)); });
  }

  // Sets the limit so that no more descriptors can be opened.
  void Exhaust() const {
    const UniqueFd next(dup(0));
    rlimit none = limit_;
    none.rlim_cur = static_cast<rlim_t>(next.get());
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }

  // Returns true if the peer has closed the connection.
  static bool IsRefused(const UniqueFd& fd) {
    char byte;
    return recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }

  sockaddr_un address_ = {};
  socklen_t size_ = 0;
  rlimit limit_ = {};
  UniqueFd listener_;
  Acceptor acceptor_;
  std::vector<UniqueFd> accepted_;
};

TEST_F(AcceptorTest, AcceptsAllWaitingConnections) {
  EXPECT_FALSE(Accept());
  EXPECT_TRUE(accepted_.empty());
  const UniqueFd one = Dial();
  const UniqueFd two = Dial();
  EXPECT_FALSE(Accept());
  ASSERT_EQ(accepted_.size(), 2u);
  EXPECT_NE(fcntl(accepted_[0].get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(accepted_[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(AcceptorTest, ARoundAcceptsALimitedNumberOfConnections) {
  std::vector<UniqueFd> peers;
  for (int i = 0; i < 65; ++i) peers.push_back(Dial());
  Accept();
  EXPECT_EQ(accepted_.size(), 64u);
  Accept();
  EXPECT_EQ(accepted_.size(), 65u);
}

TEST_F(AcceptorTest, WithoutDescriptorsConnectionsAreRefusedAndReportedOnce) {
  const UniqueFd one = Dial();
  const UniqueFd two = Dial();
  const UniqueFd three = Dial();
  Exhaust();
  EXPECT_TRUE(Accept());
  EXPECT_FALSE(Accept());
  EXPECT_TRUE(accepted_.empty());
  EXPECT_TRUE(IsRefused(one));
  EXPECT_TRUE(IsRefused(two));
  EXPECT_FALSE(IsRefused(three));
  setrlimit(RLIMIT_NOFILE, &limit_);
  EXPECT_FALSE(Accept());
  EXPECT_EQ(accepted_.size(), 1u);
  const UniqueFd four = Dial();
  Exhaust();
  EXPECT_TRUE(Accept());
}

TEST_F(AcceptorTest, TheReservedDescriptorsAreUsedUntilOneIsLeft) {
  acceptor_ = Acceptor(UniqueFd(dup(listener_.get())), {5, 2});
  std::vector<UniqueFd> opened;
  const auto accept = [&] {
    return acceptor_.Accept([&](UniqueFd fd) {
      opened.emplace_back(dup(fd.get()));
      accepted_.push_back(std::move(fd));
    });
  };
  std::vector<UniqueFd> peers;
  for (int i = 0; i < 4; ++i) peers.push_back(Dial());
  Exhaust();
  EXPECT_TRUE(accept());
  EXPECT_EQ(accepted_.size(), 2u);
  EXPECT_TRUE(opened.back());
  EXPECT_TRUE(IsRefused(peers[2]));
  EXPECT_FALSE(accept());
  EXPECT_TRUE(IsRefused(peers[3]));
  setrlimit(RLIMIT_NOFILE, &limit_);
  peers.push_back(Dial());
  EXPECT_FALSE(accept());
  EXPECT_EQ(accepted_.size(), 3u);
}

}  // namespace
}  // namespace canopy
