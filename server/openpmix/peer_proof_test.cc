#include "server/openpmix/peer_proof.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "common/posix/unique_fd.h"

namespace canopy::openpmix {
namespace {

class PeerProofTest : public ::testing::TestWithParam<int> {
 protected:
  PeerProofTest() : proof_(MakeHostPeerProof()) {
    listener_.Reset(socket(GetParam(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (GetParam() == AF_INET) {
      auto* in = reinterpret_cast<sockaddr_in*>(&address_);
      in->sin_family = AF_INET;
      in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      size_ = sizeof *in;
    } else {
      auto* in6 = reinterpret_cast<sockaddr_in6*>(&address_);
      in6->sin6_family = AF_INET6;
      in6->sin6_addr = in6addr_loopback;
      size_ = sizeof *in6;
    }
    usable_ = bind(listener_.get(), Address(), size_) == 0 &&
              listen(listener_.get(), 8) == 0;
    getsockname(listener_.get(), Address(), &size_);
  }

  sockaddr* Address() { return reinterpret_cast<sockaddr*>(&address_); }
  UniqueFd Connect() {
    UniqueFd fd(socket(GetParam(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(fd.get(), Address(), size_) != 0) fd.Reset();
    return fd;
  }
  UniqueFd Accept() {
    return UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

  // A child that runs `body` and lives as long as this object.
  class Child {
   public:
    explicit Child(const std::function<void()>& body) {
      int fds[2];
      if (pipe(fds) != 0) return;
      pid_ = fork();
      if (pid_ == 0) {
        close(fds[1]);
        body();
        char end;
        _exit(read(fds[0], &end, 1) < 0);
      }
      close(fds[0]);
      lifeline_.Reset(fds[1]);
    }
    ~Child() {
      lifeline_.Reset();
      waitpid(pid_, nullptr, 0);
    }
    int pid() const { return pid_; }

   private:
    int pid_ = -1;
    UniqueFd lifeline_;
  };

  std::unique_ptr<PeerProof> proof_;
  UniqueFd listener_;
  sockaddr_storage address_ = {};
  socklen_t size_ = 0;
  bool usable_ = false;
};

TEST_P(PeerProofTest, OwnerOfReturnsTheOwnerOfALocalPeer) {
  if (!usable_) GTEST_SKIP() << "no such address family here";
  const UniqueFd client = Connect();
  const UniqueFd server = Accept();
  const Result<SocketOwner> owner = proof_->OwnerOf(server.get());
  ASSERT_TRUE(owner.ok()) << owner.status().message();
  struct stat info;
  ASSERT_EQ(fstat(client.get(), &info), 0);
  EXPECT_EQ(owner->uid, geteuid());
  EXPECT_EQ(owner->inode, info.st_ino);
  EXPECT_TRUE(proof_->IsHeldBy(*owner, getpid()));
  EXPECT_FALSE(proof_->IsHeldBy(
      {owner->uid, owner->inode + (uint64_t{1} << 62)}, getpid()));
}

TEST_P(PeerProofTest, IsHeldByFindsASocketInAProcessAndItsDescendants) {
  if (!usable_) GTEST_SKIP() << "no such address family here";
  const Child stranger([] {});
  const Child child([this] {
    // The child forks another process, which connects, and ends when its
    // connection is closed. The child itself only waits.
    if (fork() != 0) return;
    const int fd = Connect().Release();
    char end;
    _exit(read(fd, &end, 1) < 0);
  });
  const UniqueFd server = Accept();
  const Result<SocketOwner> owner = proof_->OwnerOf(server.get());
  ASSERT_TRUE(owner.ok());
  EXPECT_TRUE(proof_->IsHeldBy(*owner, child.pid()));
  EXPECT_FALSE(proof_->IsHeldBy(*owner, stranger.pid()));
  EXPECT_TRUE(proof_->IsHeldBy(*owner, getpid()));
}

TEST_P(PeerProofTest, TheSearchOfAProcessTreeIsBounded) {
  if (!usable_) GTEST_SKIP() << "no such address family here";
  // Each process has few descriptors, and together they have more than the
  // limit.
  const Child child([this] {
    if (fork() != 0) return;
    for (int depth = 1; depth < 8; ++depth) {
      const pid_t below = fork();
      if (below == 0) continue;
      waitpid(below, nullptr, 0);
      _exit(0);
    }
    const int fd = Connect().Release();
    char end;
    _exit(read(fd, &end, 1) < 0);
  });
  const UniqueFd server = Accept();
  const Result<SocketOwner> owner = proof_->OwnerOf(server.get());
  ASSERT_TRUE(owner.ok());
  EXPECT_TRUE(proof_->IsHeldBy(*owner, child.pid()));
  EXPECT_FALSE(MakeHostPeerProof(20)->IsHeldBy(*owner, child.pid()));
}

TEST_P(PeerProofTest, OwnerOfReturnsTheUserOfThePeersProcess) {
  if (!usable_) GTEST_SKIP() << "no such address family here";
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  constexpr uid_t kOther = 65534;
  const Child child([this] {
    if (setresuid(kOther, kOther, kOther) != 0) _exit(1);
    (void)Connect().Release();
  });
  const UniqueFd server = Accept();
  const Result<SocketOwner> owner = proof_->OwnerOf(server.get());
  ASSERT_TRUE(owner.ok());
  EXPECT_EQ(owner->uid, kOther);
}

TEST_P(PeerProofTest, AClosedPeerHasNoOwner) {
  if (!usable_) GTEST_SKIP() << "no such address family here";
  UniqueFd client = Connect();
  const UniqueFd server = Accept();
  const linger at_once = {1, 0};
  setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  client.Reset();
  EXPECT_FALSE(proof_->OwnerOf(server.get()).ok());
}

TEST_P(PeerProofTest, OwnerOfFindsNoOwnerOfALocalSocket) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  const UniqueFd a(fds[0]);
  const UniqueFd b(fds[1]);
  EXPECT_EQ(proof_->OwnerOf(a.get()).code(), kErrNotFound);
}

INSTANTIATE_TEST_SUITE_P(Families, PeerProofTest,
                         ::testing::Values(AF_INET, AF_INET6));

}  // namespace
}  // namespace canopy::openpmix
