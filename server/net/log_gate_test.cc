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

// Each line is of another kind, because the process chooses its first word.
std::string LineOf(int number) {
  std::string word;
  for (int rest = number; rest > 0; rest /= 26) {
    word += static_cast<char>('a' + rest % 26);
  }
  return word + " is what this process calls itself";
}

TEST(LogGate, AUserShutsOutNoLinesOfOthers) {
  LogGate gate;
  int64_t logged = 0;
  for (int i = 0; i < 100000; ++i) {
    logged += gate.Admit(LineOf(i), 0, 7).has_value() ? 1 : 0;
    logged += gate.Admit("closing a connection: x", 0, 7).has_value() ? 1 : 0;
  }
  EXPECT_EQ(logged, LogGate::kBurstOfUser);
  const std::string line = "closing a connection: y";
  EXPECT_EQ(gate.Admit(line, 0, 8), line);
  EXPECT_EQ(gate.Admit(line, 0), line);
}

TEST(LogGate, AFloodOfOneKindLeavesRoomForTheOthersOfTheUser) {
  LogGate gate;
  int64_t logged = 0;
  for (int i = 0; i < 100000; ++i) {
    logged += gate.Admit("closing a connection: x", 0, 7).has_value() ? 1 : 0;
  }
  EXPECT_EQ(logged, LogGate::kBurst);
  EXPECT_EQ(gate.Admit("an abort is refused", 0, 7), "an abort is refused");
  EXPECT_EQ(gate.Admit("closing a connection: x", kNsPerSecond, 7),
            "closing a connection: x (lines left out before it: 99744)");
}

TEST(LogGate, UsersWithoutNewLinesMakeRoomForOthers) {
  LogGate gate;
  const auto flood = [&gate](uint32_t uid, int64_t now) {
    int64_t logged = 0;
    for (int i = 0; i < 1000; ++i) {
      logged += gate.Admit("closing a connection: x", now, uid) ? 1 : 0;
    }
    return logged;
  };
  for (uint32_t uid = 0; uid < LogGate::kMaxUsers; ++uid) {
    EXPECT_EQ(flood(uid, 0), LogGate::kBurst);
  }
  EXPECT_EQ(flood(1000, 0), LogGate::kBurst);
  EXPECT_EQ(flood(1001, 0), 0) << "shares an allowance with user 1000";
  const int64_t later = LogGate::kBurstOfUser * kNsPerSecond;
  EXPECT_EQ(flood(1002, later), LogGate::kBurst);
  EXPECT_EQ(flood(1003, later), LogGate::kBurst);
}

}  // namespace
}  // namespace canopy::net
