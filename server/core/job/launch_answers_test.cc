#include "server/core/job/launch_answers.h"

#include <gtest/gtest.h>

#include <set>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// Agent 1 has ranks 0 and 1 of a job that agent 0 controls. Ranks 2 and 3 are
// on agents 3 and 4 below it.
class LaunchAnswersTest : public testing::Test {
 protected:
  void AllPrepare() {
    for (const NodeId node : {1u, 3u, 4u})
      answers_.AnswerPrepare(node, {1, {}});
  }
  void Report(bool started) {
    out_.clear();
    answers_.ReportUp({{1, out_}, 1, tree_}, started);
  }

  const std::shared_ptr<const JobSpec> spec_ = JobOn("job", {1, 1, 3, 4});
  Tree tree_{7, 2};
  JobPlace place_{1, tree_, spec_, 0, {}};
  const LocalRanks local_{spec_, std::make_shared<JobLayout>(*spec_), 0};
  LaunchAnswers answers_{place_, local_};
  Actions out_;
};

TEST_F(LaunchAnswersTest, ThePreparationAwaitsThisAgentAndItsChildren) {
  answers_.AnswerPrepare(1, {1, {}});
  answers_.AnswerPrepare(3, {1, {}});
  EXPECT_FALSE(answers_.AllPrepared());
  EXPECT_EQ(answers_.Unanswered(false), std::vector<uint32_t>{2});
  EXPECT_EQ(answers_.Unanswered(true), (std::vector<uint32_t>{0, 1, 2}));
  answers_.AnswerPrepare(4, {1, {}});
  EXPECT_TRUE(answers_.AllPrepared());
  EXPECT_EQ(answers_.Prepared().count, 3u);
}

TEST_F(LaunchAnswersTest, ALaunchDoesNotWaitForALostNode) {
  answers_.AnswerPrepare(1, {1, {}});
  answers_.AnswerPrepare(3, {1, {}});
  answers_.AnswerPrepare(4, {1, {}});
  tree_.SetAlive(4, false);
  place_.MarkLost(4);
  place_.Update();
  answers_.Drop(4);
  EXPECT_TRUE(answers_.AllPrepared());
  EXPECT_EQ(answers_.Prepared().count, 2u);
  EXPECT_TRUE(answers_.Unanswered(false).empty());
}

TEST_F(LaunchAnswersTest, OneErrorIsTheAnswerToTheStart) {
  EXPECT_FALSE(answers_.StartIsAnswered());
  answers_.AnswerStart(3, {0, {{3, -1, "no"}}});
  EXPECT_TRUE(answers_.StartIsAnswered());
}

TEST_F(LaunchAnswersTest, TheAnswerOfEachPhaseIsSentToTheParentOnce) {
  AllPrepare();
  answers_.AnswerStart(1, {2, {{1, -1, "no"}}});
  Report(false);
  EXPECT_EQ(Sent<JobPrepared>(out_).size(), 1u);
  EXPECT_TRUE(Sent<JobStarted>(out_).empty()) << "it has not begun";
  Report(true);
  EXPECT_TRUE(Sent<JobPrepared>(out_).empty());
  ASSERT_EQ(Sent<JobStarted>(out_).size(), 1u);
  EXPECT_EQ(Sent<JobStarted>(out_)[0].second.errors[0].text, "no");
  Report(true);
  EXPECT_TRUE(out_.empty());
  answers_.Resend();
  Report(true);
  EXPECT_EQ(out_.size(), 2u);
}

}  // namespace
}  // namespace canopy::core
