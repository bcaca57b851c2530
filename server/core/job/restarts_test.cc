#include "server/core/job/restarts.h"

#include <gtest/gtest.h>

namespace canopy::core {
namespace {

constexpr int kKilled = 9;

ProcExit Failure(Rank rank, uint32_t incarnation = 0) {
  ProcExit exit;
  exit.rank = rank;
  exit.wait_status = kKilled;
  exit.incarnation = incarnation;
  return exit;
}

LocalOutput End(Rank rank, uint16_t channel) {
  return {"job", rank, channel, {}, 0};
}

TEST(RestartsTest, FailuresAreRestartedUpToTheLimit) {
  const Restarts restarts(2);
  EXPECT_TRUE(restarts.Allows(Failure(1)));
  EXPECT_TRUE(restarts.Allows(Failure(1, 1)));
  EXPECT_FALSE(restarts.Allows(Failure(1, 2)));
  EXPECT_FALSE(Restarts(0).Allows(Failure(1)));
  ProcExit well;
  EXPECT_FALSE(restarts.Allows(well));
  // The process was connected and ended without finalizing, which is a failure.
  well.called_init = true;
  EXPECT_TRUE(restarts.Allows(well));
  well.finalized = true;
  EXPECT_FALSE(restarts.Allows(well));
}

TEST(RestartsTest, TheFirstRestartIsDueAtOnceAndTheNextAfterAnInterval) {
  Restarts restarts(9);
  EXPECT_EQ(restarts.NextDeadline(), kNever);
  restarts.Add(100, Failure(1));
  EXPECT_EQ(restarts.NextDeadline(), 100);
  ASSERT_EQ(restarts.TakeDue(100).size(), 1u);
  EXPECT_TRUE(restarts.TakeDue(100).empty());
  restarts.Add(200, Failure(1, 1));
  restarts.Add(200, Failure(2));
  // Each rank has an interval of its own.
  EXPECT_EQ(restarts.TakeDue(200).front().rank, 2u);
  EXPECT_EQ(restarts.NextDeadline(), 100 + kRestartInterval);
  EXPECT_TRUE(restarts.TakeDue(99 + kRestartInterval).empty());
  const auto due = restarts.TakeDue(100 + kRestartInterval);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].incarnation, 1u);
  EXPECT_EQ(restarts.NextDeadline(), kNever);
}

TEST(RestartsTest, EndsOfStreamsAreHeldUntilTheLastProcessEnds) {
  Restarts restarts(1);
  EXPECT_TRUE(restarts.HoldEnd(End(1, 2)));
  restarts.DropEnds(1);
  EXPECT_TRUE(restarts.HoldEnd(End(1, 2)));
  EXPECT_TRUE(restarts.HoldEnd(End(1, 4)));
  EXPECT_EQ(restarts.TakeEnds(1).size(), 2u);
  EXPECT_FALSE(restarts.HoldEnd(End(1, 4)));
  EXPECT_TRUE(restarts.TakeEnds(2).empty());
  EXPECT_FALSE(Restarts(0).HoldEnd(End(1, 2)));
}

}  // namespace
}  // namespace canopy::core
