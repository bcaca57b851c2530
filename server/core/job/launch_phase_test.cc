#include "server/core/job/launch_phase.h"

#include <gtest/gtest.h>

namespace canopy::core {
namespace {

TEST(LaunchPhaseTest, IsCompleteWhenAllAwaitedHaveAnswered) {
  LaunchPhase phase;
  EXPECT_TRUE(phase.Complete({}));
  phase.Answer(3, {2, {}});
  EXPECT_TRUE(phase.Answered(3));
  EXPECT_FALSE(phase.Complete({3, 5}));
  phase.Answer(5, {1, {{5, -1, "no"}}});
  EXPECT_TRUE(phase.Complete({3, 5}));
  phase.Drop(5);
  EXPECT_FALSE(phase.Complete({3, 5}));
}

TEST(LaunchPhaseTest, SumAddsOnlyTheAnswersOfAwaitedAgents) {
  LaunchPhase phase;
  phase.Answer(3, {2, {{3, -1, "a"}}});
  phase.Answer(5, {1, {{5, -2, "b"}}});
  // Agent 7 is not asked, because its answer is contained in the answer of an
  // agent that is asked.
  phase.Answer(7, {4, {}});
  const PhaseAnswer sum = phase.Sum({3, 5});
  EXPECT_EQ(sum.count, 3u);
  ASSERT_EQ(sum.errors.size(), 2u);
  EXPECT_EQ(sum.errors[1].text, "b");
}

TEST(LaunchPhaseTest, ErrorsAndNotesAreBounded) {
  LaunchPhase phase;
  PhaseAnswer answer;
  answer.errors.resize(kMaxNodeErrors + 1);
  for (size_t i = 0; i <= kMaxProgramNotes; ++i) {
    answer.notes.push_back({std::to_string(i), "", {1}, 1});
  }
  phase.Answer(1, answer);
  EXPECT_EQ(phase.Sum({1}).errors.size(), kMaxNodeErrors);
  EXPECT_EQ(phase.Sum({1}).notes.size(), kMaxProgramNotes);
}

TEST(LaunchPhaseTest, EqualNotesAreMerged) {
  LaunchPhase phase;
  phase.Answer(1, {1, {}, {{"why", "", {9}, 1}}});
  phase.Answer(2, {1, {}, {{"why", "", {4}, 3}, {"else", "", {2}, 1}}});
  const auto notes = phase.Sum({1, 2}).notes;
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].nodes, (std::vector<NodeId>{4, 9}));
  EXPECT_EQ(notes[0].count, 4u);
}

}  // namespace
}  // namespace canopy::core
