// The tests with a barrier are in client/abi/barrier_abi_test.cc.
#include "client/session/job_fences.h"

#include <gtest/gtest.h>

#include "common/mutex.h"

namespace canopy::client {
namespace {

TEST(JobFences, OnlyAFenceThatBeginsAloneMayUseTheBarrier) {
  JobFences fences(nullptr);
  EXPECT_TRUE(fences.Begin());
  EXPECT_FALSE(fences.Begin());
  fences.End();
  EXPECT_FALSE(fences.Begin()) << "one is still in progress";
  fences.End();
  fences.End();
  EXPECT_TRUE(fences.Begin());
}

TEST(JobFences, ANullBarrierIsAccepted) {
  JobFences fences(nullptr);
  const MutexLock lock(fences.mutex());
  EXPECT_EQ(fences.barrier(), nullptr);
  fences.Replace(nullptr);
  EXPECT_EQ(fences.barrier(), nullptr);
}

}  // namespace
}  // namespace canopy::client
