#include "server/agent/termination.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace canopy::agent {
namespace {

class TerminationTest : public testing::Test {
 protected:
  EventLoop loop_;
  std::vector<std::string> requests_;
  Termination termination_{&loop_, [this](const std::string& reason) {
                             requests_.push_back(reason);
                           }};
};

TEST_F(TerminationTest, ASignalRequestsTermination) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  termination_.WatchSignals({SIGTERM});
  ASSERT_EQ(raise(SIGTERM), 0);
  loop_.RunOnce(0);
  EXPECT_EQ(requests_,
            std::vector<std::string>{"signal " + std::to_string(SIGTERM)});
}

TEST_F(TerminationTest, TheEndOfTheLauncherRequestsTermination) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  termination_.WatchLauncher(fds[0]);
  ASSERT_EQ(write(fds[1], "x", 1), 1);
  loop_.RunOnce(0);
  EXPECT_TRUE(requests_.empty()) << "it is alive";
  close(fds[1]);
  loop_.RunOnce(0);
  EXPECT_EQ(requests_, std::vector<std::string>{"the launcher is gone"});
  close(fds[0]);
}

TEST_F(TerminationTest, TheEndOfAnUnwatchedLauncherIsIgnored) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  termination_.WatchLauncher(fds[0]);
  termination_.UnwatchLauncher();
  close(fds[1]);
  loop_.RunOnce(0);
  EXPECT_TRUE(requests_.empty());
  close(fds[0]);
}

TEST_F(TerminationTest, TerminationBeginsOnce) {
  EXPECT_FALSE(termination_.begun());
  EXPECT_TRUE(termination_.Begin("first"));
  EXPECT_TRUE(termination_.begun());
  EXPECT_FALSE(termination_.Begin("second"));
}

}  // namespace
}  // namespace canopy::agent
