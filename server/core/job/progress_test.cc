#include "server/core/job/progress.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

class ProgressTest : public testing::Test {
 protected:
  ProgressTest()
      : spec_(std::make_shared<JobSpec>(*JobOn("job", {0, 0, 4}))),
        progress_(spec_) {}

  std::shared_ptr<JobSpec> spec_;
  JobProgress progress_;
};

TEST_F(ProgressTest, AnAbnormalEndIsAFailure) {
  EXPECT_FALSE(progress_.OnExit({0, 0, false, false, false}));
  auto failure = progress_.OnExit({1, 7 << 8, false, false, false});
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->exit_code, 7);
  EXPECT_EQ(failure->status, kErrJobNonZeroTerm);
  failure = progress_.OnExit({2, 9, false, true, false});
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->exit_code, 137);
  EXPECT_EQ(failure->status, kErrJobAbortedBySig);
  EXPECT_TRUE(progress_.all_ended());
}

TEST_F(ProgressTest, AnEndWithoutFinalizeIsAFailure) {
  const auto failure = progress_.OnExit({0, 0, false, true, false});
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->exit_code, kExitLostWithoutFinalize);
  EXPECT_EQ(failure->status, kErrProcTermWoSync);
}

TEST_F(ProgressTest, RequestedAndRepeatedEndsAreNotFailures) {
  progress_.ExpectEnd(1);
  EXPECT_EQ(progress_.Expected(), std::vector<Rank>{1});
  EXPECT_FALSE(progress_.OnExit({1, 9, false, false, false}));
  EXPECT_FALSE(progress_.OnExit({1, 11, false, false, false}));
  EXPECT_FALSE(progress_.OnExit({0, kNeverStarted, false, false, false}));
  EXPECT_EQ(progress_.num_ended(), 2u);
  EXPECT_EQ(progress_.Remaining(), std::vector<Rank>{2});
}

TEST_F(ProgressTest, OnlyTheFirstFailureCounts) {
  EXPECT_TRUE(progress_.Fail({1, -1, 0, "first"}));
  EXPECT_FALSE(progress_.Fail({2, -2, 1, "second"}));
  EXPECT_EQ(progress_.failure()->text, "first");
}

TEST_F(ProgressTest, EndedRanksConsumeNoInput) {
  spec_->stdin_target = StdinTarget::kAll;
  EXPECT_EQ(progress_.InputNodes(), (std::vector<uint32_t>{0, 1}));
  progress_.OnLost(2);
  progress_.OnLost(2);
  EXPECT_EQ(progress_.InputNodes(), std::vector<uint32_t>{0});
  spec_->stdin_target = StdinTarget::kRank;
  spec_->stdin_rank = 0;
  EXPECT_EQ(progress_.InputNodes(), std::vector<uint32_t>{0});
  progress_.OnLost(0);
  EXPECT_TRUE(progress_.InputNodes().empty());
  spec_->stdin_target = StdinTarget::kNone;
  EXPECT_TRUE(progress_.InputNodes().empty());
}

TEST_F(ProgressTest, TheUsageOfEachRankIsAddedOnce) {
  ProcExit exit;
  exit.rank = 0;
  exit.used = Usage{70, 4096};
  progress_.OnExit(exit);
  progress_.OnExit(exit);
  exit.rank = 1;
  exit.used = Usage{5, 8192};
  progress_.OnExit(exit);
  EXPECT_EQ(progress_.used().sum.cpu_us, 75u);
  EXPECT_EQ(progress_.used().sum.peak_bytes, 8192u);
  EXPECT_EQ(progress_.used().ranks, 2u);
}

TEST_F(ProgressTest, TheUsageOfALostRankIsUnknown) {
  progress_.OnExit({0, 9, false, false, false});
  progress_.OnExit({1, kNeverStarted, false, false, false});
  progress_.OnLost(2);
  EXPECT_EQ(progress_.used().ranks, 1u) << "what was never started";
  EXPECT_EQ(progress_.used().sum.cpu_us, 0u);
}

TEST_F(ProgressTest, ToleratedFailuresFailTheJobIfNoRankEndsWell) {
  for (const Rank rank : {0, 1}) {
    auto failure = progress_.OnExit({rank, 5 << 8, false, false, false});
    ASSERT_TRUE(failure.has_value());
    progress_.Tolerate(*std::move(failure));
  }
  EXPECT_FALSE(progress_.failure().has_value());
  JobProgress other = progress_;
  progress_.OnExit({2, 0, false, true, true});
  EXPECT_FALSE(progress_.failure().has_value());
  other.OnLost(2);
  ASSERT_TRUE(other.failure().has_value());
  EXPECT_EQ(other.failure()->rank, 0u);
}

}  // namespace
}  // namespace canopy::core
