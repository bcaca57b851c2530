#include "common/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace canopy {
namespace {

TEST(EventLoop, PostedWorkRunsInOrderFromAnotherThread) {
  EventLoop loop;
  std::vector<int> seen;
  std::thread poster([&] {
    for (int i = 0; i < 100; ++i) loop.Post([&seen, i] { seen.push_back(i); });
    loop.Post([&loop] { loop.Stop(); });
  });
  loop.Run();
  poster.join();
  ASSERT_EQ(seen.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[i], i);
}

TEST(EventLoop, ACallbackMayUnwatchItsDescriptor) {
  EventLoop loop;
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  int calls = 0;
  loop.Watch(fds[0], EPOLLIN, [&](uint32_t) {
    ++calls;
    loop.Unwatch(fds[0]);
  });
  ASSERT_EQ(write(fds[1], "x", 1), 1);
  loop.RunOnce(1000);
  loop.RunOnce(0);
  EXPECT_EQ(calls, 1);
  close(fds[0]);
  close(fds[1]);
}

TEST(EventLoop, ALateEventOfAReusedDescriptorIsDropped) {
  EventLoop loop;
  int a[2];
  int b[2];
  ASSERT_EQ(pipe(a), 0);
  ASSERT_EQ(pipe(b), 0);
  std::string seen;
  loop.Watch(a[0], EPOLLIN, [&](uint32_t) {
    seen += "a";
    loop.Unwatch(b[0]);
    loop.Watch(b[0], EPOLLIN, [&](uint32_t) { seen += "n"; });
    loop.Unwatch(a[0]);
  });
  loop.Watch(b[0], EPOLLIN, [&](uint32_t) {
    seen += "b";
    loop.Unwatch(b[0]);
  });
  ASSERT_EQ(write(a[1], "x", 1), 1);
  ASSERT_EQ(write(b[1], "x", 1), 1);
  loop.RunOnce(1000);
  EXPECT_TRUE(seen == "a" || seen == "ba") << seen;
  for (int fd : {a[0], a[1], b[0], b[1]}) close(fd);
}

TEST(EventLoop, TimersRunInOrderOfTimeAndCanBeCancelled) {
  EventLoop loop;
  std::string seen;
  loop.AddTimer(1'000'000'000, [&] {
    seen += "2";
    loop.Stop();
  });
  loop.AddTimer(1'000'000, [&] { seen += "1"; });
  const auto id = loop.AddTimer(0, [&] { seen += "x"; });
  loop.CancelTimer(id);
  loop.Run();
  EXPECT_EQ(seen, "12");
}

TEST(EventLoop, DeferredWorkRunsAtTheEndOfTheRound) {
  EventLoop loop;
  std::string seen;
  loop.Post([&] {
    loop.Defer([&] { seen += "d"; });
    seen += "p";
  });
  loop.Post([&] { seen += "q"; });
  loop.RunOnce(1000);
  EXPECT_EQ(seen, "pqd");
}

TEST(EventLoop, WorkThatDefersItselfDoesNotStarveDescriptors) {
  EventLoop loop;
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  int runs = 0;
  bool readable = false;
  const std::function<void()> again = [&] {
    ++runs;
    // Bounds the test if the loop runs deferred work until none is left.
    if (runs < 1000) loop.Defer(again);
  };
  loop.Watch(fds[0], EPOLLIN, [&](uint32_t) { readable = true; });
  loop.Defer(again);
  loop.RunOnce(0);
  EXPECT_LT(runs, 10);
  ASSERT_EQ(write(fds[1], "x", 1), 1);
  // The second round does not sleep, because work is left.
  loop.RunOnce(-1);
  EXPECT_LT(runs, 20);
  EXPECT_TRUE(readable);
  EXPECT_EQ(loop.round(), 2u);
  close(fds[0]);
  close(fds[1]);
}

TEST(EventLoop, ALoopBelongsToTheThreadThatRunsIt) {
  EventLoop loop;
  EXPECT_TRUE(loop.OnThread());
  std::thread runner([&] {
    EXPECT_TRUE(loop.OnThread());
    loop.RunOnce(0);
    loop.Post([&] { loop.Stop(); });
    loop.AssertOnThread();
    loop.Run();
  });
  runner.join();
  // No thread runs the loop any more.
  EXPECT_TRUE(loop.OnThread());
  loop.RunOnce(0);
  std::thread([&] { EXPECT_FALSE(loop.OnThread()); }).join();
}

TEST(EventLoopDeathTest, UseByAnotherThreadEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        EventLoop loop;
        loop.RunOnce(0);
        std::thread([&] { loop.AddTimer(1, [] {}); }).join();
      },
      "check failed: OnThread");
}

}  // namespace
}  // namespace canopy
