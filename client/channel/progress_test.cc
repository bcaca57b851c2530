#include "client/channel/progress.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace canopy::client {
namespace {

// Data that tasks use is declared before the Progress, whose destructor runs
// the remaining tasks.

TEST(Progress, TasksRunInOrderOnAThreadOfTheirOwn) {
  std::vector<int> order;
  std::promise<std::thread::id> done;
  Progress progress(/*external=*/false);
  for (int i = 0; i < 100; ++i) {
    progress.Post([&order, i] { order.push_back(i); });
  }
  progress.Post([&] {
    EXPECT_TRUE(progress.InTask());
    done.set_value(std::this_thread::get_id());
  });
  EXPECT_NE(done.get_future().get(), std::this_thread::get_id());
  EXPECT_FALSE(progress.InTask());
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(Progress, TasksMayPostTasks) {
  std::promise<void> done;
  Progress progress(/*external=*/false);
  progress.Post([&] { progress.Post([&] { done.set_value(); }); });
  done.get_future().wait();
}

TEST(Progress, StopRunsQueuedTasksAndDropsLaterOnes) {
  int ran = 0;
  Progress progress(/*external=*/false);
  for (int i = 0; i < 10; ++i) progress.Post([&] { ++ran; });
  progress.Stop();
  EXPECT_EQ(ran, 10);
  progress.Post([&] { ++ran; });
  progress.RunPending();
  EXPECT_EQ(ran, 10);
}

TEST(Progress, TasksPostedDuringACallRunAfterIt) {
  std::atomic<bool> returned{false};
  std::promise<bool> order;
  Progress progress(/*external=*/false);
  {
    const Progress::Call call(&progress);
    std::thread([&] {
      progress.Post([&] { order.set_value(returned.load()); });
    }).join();
    // Time for the progress thread to run the task if the task did not wait.
    usleep(20'000);
    returned = true;
  }
  EXPECT_TRUE(order.get_future().get());
}

TEST(Progress, ATaskWaitsOnlyForCallsThatBeganBeforeIt) {
  int ran = 0;
  Progress progress(/*external=*/true);
  std::optional<Progress::Call> first(&progress);
  progress.Post([&] { ++ran; });
  const Progress::Call second(&progress);
  progress.Post([&] { ++ran; });
  progress.RunPending();
  EXPECT_EQ(ran, 0);
  first.reset();
  progress.RunPending();
  EXPECT_EQ(ran, 1);
}

TEST(Progress, ATaskPostedDuringACallInATaskRuns) {
  std::promise<void> done;
  Progress progress(/*external=*/false);
  progress.Post([&] {
    const Progress::Call call(&progress);
    progress.Post([&] { done.set_value(); });
  });
  done.get_future().wait();
}

TEST(Progress, ExternalProgressRunsOnlyWhenDriven) {
  int ran = 0;
  Progress progress(/*external=*/true);
  progress.Post([&] {
    ++ran;
    progress.RunPending();  // no effect, because a task is running
    progress.Post([&] { ++ran; });
  });
  EXPECT_EQ(ran, 0);
  progress.RunPending();
  EXPECT_EQ(ran, 2);
}

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(fds_), 0); }
  ~Pipe() {
    close(fds_[0]);
    if (fds_[1] >= 0) close(fds_[1]);
  }
  int reader() const { return fds_[0]; }
  void Write() { EXPECT_EQ(write(fds_[1], "x", 1), 1); }
  void Read() {
    char c;
    EXPECT_EQ(read(fds_[0], &c, 1), 1);
  }
  void CloseWriter() {
    close(fds_[1]);
    fds_[1] = -1;
  }

 private:
  int fds_[2];
};

TEST(Progress, ATaskRunsWhenItsArmedDescriptorIsReadable) {
  Pipe pipe;
  std::promise<void> seen;
  Progress progress(/*external=*/false);
  const Progress::WatchId watch = progress.Watch(pipe.reader(), [&] {
    pipe.Read();
    seen.set_value();
  });
  pipe.Write();
  progress.Arm(watch, true);
  seen.get_future().wait();
  progress.Stop();
}

TEST(Progress, NoTaskRunsWhileDisarmed) {
  Pipe pipe;
  Progress progress(/*external=*/true);
  int ran = 0;
  const Progress::WatchId watch = progress.Watch(pipe.reader(), [&] {
    pipe.Read();
    ++ran;
  });
  pipe.Write();
  progress.RunPending();
  EXPECT_EQ(ran, 0);
  progress.Arm(watch, true);
  progress.Arm(watch, true);
  progress.RunPending();
  EXPECT_EQ(ran, 1);
  pipe.Write();
  progress.Arm(watch, false);
  progress.RunPending();
  EXPECT_EQ(ran, 1);
  progress.Arm(watch, true);
  progress.Unwatch(watch);
  progress.Arm(watch, true);
  progress.RunPending();
  EXPECT_EQ(ran, 1);
}

TEST(Progress, ATaskThatUnwatchesItsClosedDescriptorRunsOnce) {
  Pipe pipe;
  std::promise<void> seen;
  Progress progress(/*external=*/false);
  Progress::WatchId watch = 0;
  watch = progress.Watch(pipe.reader(), [&] {
    progress.Unwatch(watch);
    seen.set_value();
  });
  progress.Arm(watch, true);
  pipe.CloseWriter();
  seen.get_future().wait();
}

TEST(Progress, EachDescriptorHasItsOwnWatch) {
  Pipe pipes[2];
  int ran[2] = {};
  Progress progress(/*external=*/true);
  Progress::WatchId watches[2];
  for (int i : {0, 1}) {
    watches[i] = progress.Watch(pipes[i].reader(), [&, i] {
      pipes[i].Read();
      ++ran[i];
    });
    progress.Arm(watches[i], true);
    pipes[i].Write();
  }
  progress.RunPending();
  EXPECT_EQ(ran[0], 1);
  EXPECT_EQ(ran[1], 1);
  for (Pipe& pipe : pipes) pipe.Write();
  progress.Unwatch(watches[0]);
  progress.RunPending();
  EXPECT_EQ(ran[0], 1);
  EXPECT_EQ(ran[1], 2);
}

}  // namespace
}  // namespace canopy::client
