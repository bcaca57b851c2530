#include "server/local/identity.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace canopy::local {
namespace {

PeerCredentials Peer(uint32_t uid, int pid) {
  PeerCredentials peer;
  peer.uid = uid;
  peer.pid = pid;
  return peer;
}

TEST(IdentityTest, APeerNeedsTheUidAndEitherTheTokenOrThePid) {
  HostIdentityPolicy policy;
  const int self = getpid();
  const RegisteredProcess process = {1000, "secret", self};
  EXPECT_TRUE(policy.Check(Peer(1000, 1), process, "secret").ok());
  EXPECT_EQ(policy.Check(Peer(1001, self), process, "secret").code(),
            kErrInvalidCred);
  EXPECT_FALSE(policy.Check(Peer(1000, 1), process, "secreT").ok());
  EXPECT_FALSE(policy.Check(Peer(1000, 1), process, "").ok());
  EXPECT_TRUE(policy.Check(Peer(1000, self), process, "").ok());
  EXPECT_FALSE(policy.Check(Peer(1000, getppid()), process, "").ok());
}

TEST(IdentityTest, ADescendantOfTheProcessIsAccepted) {
  HostIdentityPolicy policy;
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(hold[1]);
    char c;
    _exit(static_cast<int>(read(hold[0], &c, 1)));
  }
  const RegisteredProcess process = {1000, "secret", getpid()};
  EXPECT_TRUE(policy.Check(Peer(1000, child), process, "").ok());
  const RegisteredProcess other = {1000, "secret", child};
  EXPECT_FALSE(policy.Check(Peer(1000, getpid()), other, "").ok());
  close(hold[1]);
  close(hold[0]);
  waitpid(child, nullptr, 0);
}

TEST(IdentityTest, APeerIsRejectedIfTheRankHasNeitherTokenNorPid) {
  HostIdentityPolicy policy;
  EXPECT_FALSE(policy.Check(Peer(1000, 0), {1000, "", 0}, "").ok());
}

TEST(IdentityTest, TokensAreRandom) {
  const std::string a = MakeToken();
  EXPECT_EQ(a.size(), 32u);
  EXPECT_EQ(a.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(a, MakeToken());
}

}  // namespace
}  // namespace canopy::local
