#include "server/runtime/slow_turns.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

std::string Cause() { return "a test"; }

TEST(SlowTurns, ALongTurnIsLoggedWithItsCause) {
  SlowTurns turns;
  EXPECT_FALSE(turns.Note(1000, 1049, Cause));
  EXPECT_EQ(turns.Note(1000, 1080, Cause),
            "a turn of the loop took 80 ms: a test (1 such turns so far)");
  EXPECT_EQ(turns.count(), 1u);
}

TEST(SlowTurns, SlowTurnsAreCountedAndLoggedAtALimitedRate) {
  SlowTurns turns;
  int lines = 0;
  for (int64_t at = 0; at < 20'000; at += 100) {
    lines += turns.Note(at, at + 100, Cause).has_value();
  }
  EXPECT_EQ(turns.count(), 200u);
  EXPECT_EQ(lines, 2);
}

TEST(SlowTurns, ATurnThatContainsACountedTurnIsNotCounted) {
  SlowTurns turns;
  EXPECT_TRUE(turns.Note(1010, 1100, Cause));
  EXPECT_FALSE(turns.Note(1000, 1100, Cause));
  EXPECT_EQ(turns.count(), 1u);
}

}  // namespace
}  // namespace canopy
