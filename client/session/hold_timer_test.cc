#include "client/session/hold_timer.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>

namespace canopy::client {
namespace {

TEST(HoldTimerTest, TheTimerRunsOnceForEachExpiredStart) {
  Progress progress(/*external=*/false);
  int times = 0;
  std::promise<void> twice;
  std::unique_ptr<HoldTimer> timer;
  progress.Post([&] {
    timer = HoldTimer::Make(&progress, [&] {
      if (++times == 2) return twice.set_value();
      timer->Start(0);
    });
    timer->Start(0);
    timer->Start(0);
  });
  twice.get_future().wait();
  std::promise<void> gone;
  progress.Post([&] {
    timer.reset();
    gone.set_value();
  });
  gone.get_future().wait();
  EXPECT_EQ(times, 2);
  progress.Stop();
}

}  // namespace
}  // namespace canopy::client
