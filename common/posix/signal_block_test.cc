#include "common/posix/signal_block.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

namespace canopy {
namespace {

bool Blocked(int number) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, number) == 1;
}

TEST(SignalBlock, SignalsAreBlockedInTheCallerAndInNewThreads) {
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &usr2, nullptr), 0);
  bool in_thread = false;
  {
    const SignalBlock block;
    EXPECT_TRUE(Blocked(SIGUSR1));
    std::thread([&] { in_thread = Blocked(SIGUSR1); }).join();
  }
  EXPECT_TRUE(in_thread);
  EXPECT_FALSE(Blocked(SIGUSR1));
  EXPECT_TRUE(Blocked(SIGUSR2)) << "as before";
  ASSERT_EQ(pthread_sigmask(SIG_UNBLOCK, &usr2, nullptr), 0);
}

}  // namespace
}  // namespace canopy
