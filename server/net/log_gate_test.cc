#include "server/net/log_gate.h"

#include <gtest/gtest.h>

#include <string>

#include "common/time_units.h"

namespace canopy::net {
namespace {

TEST(LogGate, AKindIsTheFirstWordsWithoutNames) {
  EXPECT_EQ(LogGate::KindOf("node node17 is lost: killed"),
            LogGate::KindOf("node node4 is lost"));
  EXPECT_EQ(LogGate::KindOf("ignoring 'a' of rank 5: x"),
            LogGate::KindOf("ignoring 'b b b b b' of rank 77: other"));
  EXPECT_EQ(LogGate::KindOf("link to node1: reset"),
            LogGate::KindOf("link to node2: reset by peer"));
  EXPECT_EQ(LogGate::KindOf("job:2 is gone"), LogGate::KindOf("x:y is gone"));
  EXPECT_NE(LogGate::KindOf("node4 is lost"), LogGate::KindOf("node4 is back"));
}

TEST(LogGate, AKindIsShortWhateverAPeerClaims) {
  EXPECT_LT(LogGate::KindOf(std::string(1 << 20, 'x')).size(), 300u);
  EXPECT_LT(LogGate::KindOf(std::string(1 << 20, ' ')).size(), 300u);
}

TEST(LogGate, AFloodOfOneKindLeavesRoomForOthers) {
  LogGate gate;
  int64_t logged = 0;
  for (int i = 0; i < 100000; ++i) {
    const std::string text = "job-" + std::to_string(i) + " claims a thing";
    logged += gate.Admit(text, 0).has_value() ? 1 : 0;
  }
  EXPECT_EQ(logged, LogGate::kBurst);
  EXPECT_EQ(gate.Admit("node2 is lost", 0), "node2 is lost");
  EXPECT_EQ(gate.Admit("job-1 claims a thing", kNsPerSecond),
            "job-1 claims a thing (lines left out before it: 99744)");
}

}  // namespace
}  // namespace canopy::net
