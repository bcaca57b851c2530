#include "common/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace canopy {
namespace {

TEST(MutexTest, ALockedMutexExcludesOtherThreads) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    std::thread([&] {
      const bool taken = mutex.TryLock();
      EXPECT_FALSE(taken);
      if (taken) mutex.Unlock();
    }).join();
  }
  const bool taken = mutex.TryLock();
  EXPECT_TRUE(taken);
  if (taken) mutex.Unlock();
}

TEST(MutexTest, ManyThreadsCountCorrectly) {
  Mutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        const MutexLock lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

TEST(SharedMutexTest, ReadersShareAndAWriterExcludes) {
  SharedMutex mutex;
  int value = 0;
  {
    const ReaderLock first(mutex);
    std::thread([&] {
      const ReaderLock second(mutex);
      EXPECT_EQ(value, 0);
    }).join();
  }
  const WriterLock lock(mutex);
  value = 1;
}

TEST(CondVarTest, AWaitEndsWhenNotifiedOrAtTheDeadline) {
  Mutex mutex;
  CondVar changed;
  bool ready = false;
  std::thread other([&] {
    const MutexLock lock(mutex);
    ready = true;
    changed.NotifyAll();
  });
  {
    const MutexLock lock(mutex);
    while (!ready) changed.Wait(mutex);
    EXPECT_FALSE(changed.WaitUntil(mutex, std::chrono::steady_clock::now()));
  }
  other.join();
}

}  // namespace
}  // namespace canopy
