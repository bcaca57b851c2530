#include "server/cleanup/removal_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "common/mutex.h"

namespace canopy::cleanup {
namespace {

using std::chrono::milliseconds;

// Work that continues until it is released.
class Stuck {
 public:
  RemovalThreads::Work work() {
    return [this] {
      started_.set_value();
      release_.get_future().wait();
    };
  }
  void WaitUntilStarted() { started_.get_future().wait(); }
  void Release() { release_.set_value(); }

 private:
  std::promise<void> started_;
  std::promise<void> release_;
};

TEST(RemovalThreads, RunWaitsForShortWork) {
  RemovalThreads threads({.wait = milliseconds(60000)});
  bool done = false;
  threads.Run("job", [&] { done = true; });
  EXPECT_TRUE(done);
}

TEST(RemovalThreads, StuckWorkDelaysNeitherTheCallerNorOtherJobs) {
  Stuck stuck;
  std::promise<void> done;
  RemovalThreads threads({.threads = 2, .wait = milliseconds(1)});
  threads.Run("one", stuck.work());
  stuck.WaitUntilStarted();
  threads.Run("other", [&] { done.set_value(); });
  done.get_future().wait();
  stuck.Release();
}

TEST(RemovalThreads, TheWorkOfAJobIsDoneInOrder) {
  Stuck stuck;
  std::vector<int> order;
  {
    RemovalThreads threads({.wait = milliseconds(1)});
    threads.Run("job", stuck.work());
    threads.Run("job", [&] { order.push_back(1); });
    threads.Run("job", [&] { order.push_back(2); });
    EXPECT_TRUE(order.empty());
    stuck.Release();
  }
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(RemovalThreads, JobsAboveTheLimitWaitForAThread) {
  Stuck stuck;
  std::atomic<int> done = 0;
  {
    RemovalThreads threads({.threads = 1, .wait = milliseconds(1)});
    threads.Run("one", stuck.work());
    stuck.WaitUntilStarted();
    for (int i = 0; i < 3; ++i) {
      threads.Run("waits " + std::to_string(i), [&] { ++done; });
    }
    EXPECT_EQ(done, 0);
    stuck.Release();
  }
  EXPECT_EQ(done, 3);
}

TEST(RemovalThreads, TheDestructorLeavesWorkThatDoesNotEnd) {
  static Stuck stuck;
  {
    RemovalThreads threads(
        {.wait = milliseconds(1), .end_wait = milliseconds(1)});
    threads.Run("job", stuck.work());
    stuck.WaitUntilStarted();
  }
  stuck.Release();
}

}  // namespace
}  // namespace canopy::cleanup
