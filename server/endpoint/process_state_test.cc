#include "server/endpoint/process_state.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "common/posix/unique_fd.h"

namespace canopy::endpoint {
namespace {

TEST(ProcessState, AStoppedProcessIsRecognised) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  EXPECT_FALSE(IsStopped(child));
  kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(IsStopped(child));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  EXPECT_FALSE(IsStopped(child));
  EXPECT_FALSE(IsStopped(0));
}

TEST(ProcessState, PidOfPeerReturnsTheConnectedProcess) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  const UniqueFd first(fds[0]);
  const UniqueFd second(fds[1]);
  EXPECT_EQ(PidOfPeer(first.get()), getpid());
  EXPECT_EQ(PidOfPeer(-1), 0);
}

}  // namespace
}  // namespace canopy::endpoint
