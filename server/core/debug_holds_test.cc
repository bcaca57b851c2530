#include "server/core/debug_holds.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
constexpr TimeNs At(int64_t seconds) { return seconds * kSecond; }

class DebugHoldsTest : public testing::Test {
 protected:
  void Say(TimeNs now, NodeId node, bool holds, TimeNs age = 0,
           const std::string& nspace = "a") {
    holds_.Note(now, nspace, {node, ++number_, holds, now - age});
  }

  CoreEvents events_;
  DebugHolds holds_{&events_};
  uint64_t number_ = 0;
};

TEST_F(DebugHoldsTest, LimitsOfOtherJobsAreNotExtended) {
  EXPECT_EQ(holds_.DueAt(At(5), 0, At(5), "a"), At(5));
  Say(At(1), 0, true, 0, "b");
  EXPECT_EQ(holds_.DueAt(At(5), 0, At(5), "a"), At(5));
  EXPECT_FALSE(holds_.Holds("a"));
  EXPECT_TRUE(holds_.Holds("b"));
}

TEST_F(DebugHoldsTest, ALimitIsExtendedByTheTimeOfTheHold) {
  Say(At(2), 0, true);
  EXPECT_EQ(holds_.DueAt(At(5), 0, At(5), "a"), At(8));
  EXPECT_EQ(holds_.DueAt(At(8), At(5), At(8), "a"), At(11));
  Say(At(9), 0, false);
  EXPECT_EQ(holds_.DueAt(At(11), At(8), At(11), "a"), At(12));
  EXPECT_EQ(holds_.DueAt(At(12), At(11), At(12), "a"), At(12));
  EXPECT_EQ(holds_.DueAt(At(30), At(20), At(30), "a"), At(30))
      << "it was over before the limit was set";
}

TEST_F(DebugHoldsTest, AnExpiredLimitOfAHeldJobIsDueASecondLater) {
  Say(0, 0, true);
  EXPECT_EQ(holds_.DueAt(At(5), At(5) - 1, At(5), "a"), At(6));
  EXPECT_EQ(holds_.DueAt(At(5), 0, kNever, "a"), kNever);
}

TEST_F(DebugHoldsTest, AJobIsHeldWhileAnyNodeHoldsIt) {
  Say(At(1), 0, true);
  Say(At(2), 1, true);
  Say(At(3), 0, false);
  EXPECT_TRUE(holds_.Holds("a"));
  Say(At(4), 1, false);
  EXPECT_FALSE(holds_.Holds("a"));
  EXPECT_EQ(holds_.DueAt(At(10), 0, At(10), "a"), At(13));
}

TEST_F(DebugHoldsTest, TheTimeOfOverlappingHoldsIsCountedOnce) {
  Say(At(1), 0, true, 0, "a");
  Say(At(2), 1, true, 0, "b");
  Say(At(4), 0, false, 0, "a");
  Say(At(5), 1, false, 0, "b");
  const std::array<std::string, 2> jobs = {"a", "b"};
  EXPECT_EQ(holds_.DueAt(At(10), 0, At(10), jobs), At(14));
}

TEST_F(DebugHoldsTest, AHoldIsCountedFromItsBeginEvenIfNotifiedLate) {
  Say(At(10), 3, true, At(6));
  EXPECT_EQ(holds_.DueAt(At(10), 0, At(10), "a"), At(16));
  Say(At(11), 2, true, At(20));
  EXPECT_EQ(holds_.DueAt(At(12), 0, At(12), "a"), At(24))
      << "no earlier than the limit's begin";
}

TEST_F(DebugHoldsTest, OlderNotificationsAndHoldsOfLostNodesAreIgnored) {
  holds_.Note(At(1), "a", {0, 5, true, At(1)});
  holds_.Note(At(2), "a", {0, 7, false, At(2)});
  holds_.Note(At(3), "a", {0, 6, true, At(3)});
  EXPECT_FALSE(holds_.Holds("a"));
  holds_.Note(At(4), "a", {1, 1, true, At(4)});
  holds_.OnNodeLost(At(5), 1);
  EXPECT_FALSE(holds_.Holds("a"));
  holds_.OnJobRemoved("a");
  EXPECT_TRUE(holds_.empty());
  events_ = {};
  holds_.Note(At(6), "a", {1, 2, true, At(6)});
  holds_.OnJobRemoved("a");
  EXPECT_EQ(TakeAll<HoldChanged>(&events_).size(), 2u);
}

TEST_F(DebugHoldsTest, TheFirstBeginAndTheLastEndOfAHoldAreReported) {
  Say(At(1), 0, true);
  Say(At(2), 1, true);
  ASSERT_EQ(TakeAll<HoldChanged>(&events_).size(), 1u);
  Say(At(3), 0, false);
  EXPECT_TRUE(events_.empty());
  Say(At(4), 1, false);
  const auto changes = TakeAll<HoldChanged>(&events_);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].nspace, "a");
  EXPECT_FALSE(changes[0].held);
}

TEST_F(DebugHoldsTest, TheNumberOfHeldJobsIsBounded) {
  for (size_t i = 0; i < kMaxHeldJobs; ++i) {
    Say(At(1), 0, true, 0, std::to_string(i));
  }
  Say(At(1), 0, true, 0, "more");
  EXPECT_FALSE(holds_.Holds("more"));
  Say(At(2), 0, false, 0, "7");
  Say(At(2), 0, true, 0, "more");
  EXPECT_TRUE(holds_.Holds("more"));
  // The job is held during every other second for 200 seconds. The timeout
  // never expires too early.
  DebugHolds many;
  for (int64_t i = 0; i < 200; i += 2) {
    const auto number = static_cast<uint64_t>(i);
    many.Note(At(i), "a", {0, number + 1, true, At(i)});
    many.Note(At(i + 1), "a", {0, number + 2, false, 0});
  }
  EXPECT_GE(many.DueAt(At(200), 0, At(200), "a"), At(300));
  EXPECT_EQ(many.DueAt(At(200), At(180), At(200), "a"), At(210));
}

}  // namespace
}  // namespace canopy::core
