#include "server/process/shim_watch.h"

#include <gtest/gtest.h>

namespace canopy::process {
namespace {

class ShimWatchTest : public testing::Test {
 protected:
  void RunFor(int64_t ms) {
    const int64_t end = EventLoop::Now() + ms * 1'000'000;
    while (EventLoop::Now() < end) loop_.RunOnce(5);
  }

  EventLoop loop_;
  bool awaits_ = true;
  int asked_ = 0;
  int lost_ = 0;
  ShimWatch watch_{&loop_,
                   20,
                   {[this] {
                      if (awaits_) ++asked_;
                      return awaits_;
                    },
                    [this] { ++lost_; }}};
};

TEST_F(ShimWatchTest, AShimThatDoesNotAnswerIsLost) {
  watch_.OnKill(10);
  RunFor(200);
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(lost_, 1);
}

TEST_F(ShimWatchTest, AShimThatAnswersIsNotLost) {
  watch_.OnKill(10);
  while (asked_ == 0) loop_.RunOnce(5);
  watch_.OnFrame();
  RunFor(200);
  EXPECT_EQ(lost_, 0);
}

TEST_F(ShimWatchTest, FramesBeforeTheRequestAreNoAnswer) {
  watch_.OnKill(10);
  watch_.OnFrame();
  RunFor(200);
  EXPECT_EQ(lost_, 1);
}

TEST_F(ShimWatchTest, AShimWithoutProcessesIsNotAsked) {
  awaits_ = false;
  watch_.OnKill(10);
  RunFor(200);
  EXPECT_EQ(lost_, 0);
}

TEST_F(ShimWatchTest, ALaterKillBeginsTheWaitAnew) {
  watch_.OnKill(60'000);
  watch_.OnKill(0);
  RunFor(200);
  EXPECT_EQ(lost_, 1);
}

}  // namespace
}  // namespace canopy::process
