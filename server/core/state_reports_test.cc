#include "server/core/state_reports.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

class StateReportsTest : public testing::Test {
 protected:
  StateReportsTest()
      : tree_(3, 2),
        reports_(0, tree_,
                 [](TimeNs, const std::string& what, const std::string&) {
                   StateAnswer answer;
                   answer.about = what;
                   return answer;
                 }) {}

  uint64_t Ask(uint64_t request) {
    reports_.OnRequested({10, actions_}, {request, "why", ""});
    const auto sent = Sent<StateQuery>(actions_);
    return sent.empty() ? 0 : sent.back().second.request;
  }
  bool Done() {
    const auto all = All<StateCollected>(actions_);
    return !all.empty() && all.back().done;
  }

  Tree tree_;
  StateReports reports_;
  Actions actions_;
};

TEST_F(StateReportsTest, QueriesAllAgentsAndCollectsTheAnswers) {
  const uint64_t number = Ask(77);
  EXPECT_EQ(Sent<StateQuery>(actions_).size(), 2u);
  ASSERT_EQ(All<StateCollected>(actions_).size(), 1u);
  reports_.OnReply({0, actions_}, 1, {number, Bytes("a")});
  reports_.OnReply({0, actions_}, 1, {number, Bytes("again")});
  EXPECT_FALSE(Done());
  reports_.OnReply({0, actions_}, 2, {number, Bytes("b")});
  EXPECT_TRUE(Done());
  EXPECT_EQ(All<StateCollected>(actions_).size(), 4u);
  EXPECT_EQ(All<StateCollected>(actions_)[1].request, 77u);
  EXPECT_EQ(All<StateCollected>(actions_)[1].node, 1u);
  EXPECT_EQ(reports_.NextDeadline(), kNever);
}

TEST_F(StateReportsTest, AReportDoesNotWaitForALostNode) {
  const uint64_t number = Ask(77);
  reports_.OnReply({0, actions_}, 1, {number, Bytes("a")});
  reports_.OnNodeLost({0, actions_}, {2, false, ""});
  EXPECT_TRUE(Done());
}

TEST_F(StateReportsTest, ARequestEndsAtItsTimeLimit) {
  const uint64_t number = Ask(77);
  reports_.OnTick({10 + kStateTimeout - 1, actions_});
  EXPECT_FALSE(Done());
  reports_.OnTick({10 + kStateTimeout, actions_});
  EXPECT_TRUE(Done());
  const size_t before = actions_.size();
  reports_.OnReply({0, actions_}, 1, {number, Bytes("late")});
  EXPECT_EQ(actions_.size(), before);
}

TEST_F(StateReportsTest, AReportOfASingleAgentIsCompleteAtOnce) {
  tree_.SetAlive(1, false);
  tree_.SetAlive(2, false);
  EXPECT_EQ(Ask(77), 0u);
  EXPECT_TRUE(Done());
}

TEST_F(StateReportsTest, AnswersQueriesOfOtherAgents) {
  reports_.OnQuery({10, actions_}, 2, {9, "status", ""});
  const auto sent = Sent<StateReply>(actions_);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 2u);
  EXPECT_EQ(sent[0].second.request, 9u);
  EXPECT_EQ(DecodeStateAnswer(sent[0].second.answer.view())->about, "status");
}

}  // namespace
}  // namespace canopy::core
