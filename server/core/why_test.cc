#include "server/core/why.h"

#include <gtest/gtest.h>

namespace canopy::core {
namespace {

StateAnswer Sample() {
  StateAnswer answer;
  answer.node = 4;
  answer.parent = 1;
  answer.about = "an agent";
  answer.jobs = {{"job", 8, 2, 1, 3}};
  answer.waiting = {
      {"job", "fence #2 of job:*", 1500, 2, {{{"job", 7}, 4, true}}, 9}};
  return answer;
}

TEST(Why, DecodingRestoresTheAnswer) {
  const Result<StateAnswer> back =
      DecodeStateAnswer(EncodeStateAnswer(Sample()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->node, 4u);
  EXPECT_EQ(back->parent, 1u);
  EXPECT_EQ(back->about, "an agent");
  ASSERT_EQ(back->jobs.size(), 1u);
  EXPECT_EQ(back->jobs[0].nspace, "job");
  EXPECT_EQ(back->jobs[0].num_procs, 8u);
  EXPECT_EQ(back->jobs[0].local_procs, 2u);
  EXPECT_EQ(back->jobs[0].local_ended, 1u);
  EXPECT_EQ(back->jobs[0].connected, 3u);
  ASSERT_EQ(back->waiting.size(), 1u);
  EXPECT_EQ(back->waiting[0].operation, "fence #2 of job:*");
  EXPECT_EQ(back->waiting[0].age_ms, 1500u);
  EXPECT_EQ(back->waiting[0].callers, 2u);
  EXPECT_EQ(back->waiting[0].missing,
            (std::vector<MissingProc>{{{"job", 7}, 4, true}}));
  EXPECT_EQ(back->waiting[0].more_missing, 9u);
}

TEST(Why, MalformedAnswersAreRejected) {
  const std::string whole = EncodeStateAnswer(Sample());
  EXPECT_FALSE(DecodeStateAnswer("").ok());
  EXPECT_FALSE(DecodeStateAnswer(whole.substr(0, whole.size() - 1)).ok());
  EXPECT_FALSE(DecodeStateAnswer(whole + "x").ok());
  EXPECT_FALSE(DecodeStateAnswer("\x02").ok());
}

Waiting Fence(std::vector<MissingProc> missing, uint64_t age) {
  return {"job", "fence #0 of job:*", age, 1, std::move(missing), 0};
}

TEST(Why, TheReportOfTheAgentOfAProcessIsPreferred) {
  StateAnswer top;
  top.node = 0;
  top.waiting = {Fence(
      {{{"job", 2}, 1, false}, {{"job", 3}, 1, false}, {{"job", 4}, 2, false}},
      10)};
  StateAnswer below;
  below.node = 1;
  below.waiting = {Fence({{{"job", 3}, 1, true}}, 30)};
  const std::vector<Waiting> merged = MergeWaiting({top, below});
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].age_ms, 30u);
  EXPECT_EQ(merged[0].callers, 2u);
  EXPECT_EQ(merged[0].missing,
            (std::vector<MissingProc>{{{"job", 3}, 1, true},
                                      {{"job", 4}, 2, false}}));
}

TEST(Why, ListsAreBounded) {
  StateAnswer answer;
  answer.node = 0;
  std::vector<MissingProc> many;
  for (Rank r = 0; r < kMaxMissing + 5; ++r) {
    many.push_back({{"job", r}, 1, false});
  }
  answer.waiting = {Fence(many, 1)};
  const std::vector<Waiting> merged = MergeWaiting({answer});
  EXPECT_EQ(merged[0].missing.size(), kMaxMissing);
  EXPECT_EQ(merged[0].more_missing, 5u);
}

}  // namespace
}  // namespace canopy::core
