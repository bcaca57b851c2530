#include "tests/sim/pushed_input.h"

#include <gtest/gtest.h>

namespace canopy::sim {
namespace {

constexpr Rank kRank = 2;
const ProcId kTool = {"tool", 0};
const ProcId kOther = {"other", 0};

class PushedInputTest : public testing::Test {
 protected:
  PushedInputTest()
      : first_(input_.Push(kTool, 5)), second_(input_.Push(kTool, 0)) {}
  size_t NumErrors(const std::string& read, bool ended) {
    input_.OnRead(kRank, read);
    return input_.Check(kRank, ended).size();
  }

  PushedInput input_;
  const std::string first_;
  const std::string second_;
};

TEST_F(PushedInputTest, InputReadInOrderIsAccepted) {
  const std::string other = input_.Push(kOther, 3);
  input_.OnTaken(kTool, 2);
  EXPECT_EQ(input_.count(kTool), 2u);
  EXPECT_EQ(NumErrors(first_ + other + second_, true), 0u);
}

TEST_F(PushedInputTest, APendingPushMayBeReadPartly) {
  input_.OnTaken(kTool, 1);
  EXPECT_EQ(NumErrors(first_ + second_.substr(0, 3), false), 0u);
  EXPECT_EQ(input_.Check(kRank, true).size(), 1u);
}

TEST_F(PushedInputTest, AMissingConsumedPushIsAnError) {
  input_.OnTaken(kTool, 2);
  EXPECT_EQ(NumErrors(first_, false), 1u);
}

TEST_F(PushedInputTest, MissingMisplacedOrInventedInputIsAnError) {
  EXPECT_EQ(NumErrors(second_, true), 1u);
  EXPECT_EQ(NumErrors(first_, true), 2u);
  EXPECT_EQ(NumErrors("else;", true), 3u);
}

TEST_F(PushedInputTest, RepeatedInputIsAcceptedOnlyAfterARestart) {
  EXPECT_EQ(NumErrors(first_ + first_, true), 1u);
  input_.MayRepeat();
  EXPECT_EQ(input_.Check(kRank, true).size(), 0u);
}

}  // namespace
}  // namespace canopy::sim
