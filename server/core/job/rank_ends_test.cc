#include "server/core/job/rank_ends.h"

#include <gtest/gtest.h>

#include <variant>

namespace canopy::core {
namespace {

RankEnd Exit(Rank rank, int status = 0) {
  return {{rank, status, false, false, false}, false};
}
RankEnd Lost(Rank rank) { return {{rank, 0, false, false, false}, true}; }

TEST(RankEndsTest, AnEndIsAddedOnce) {
  RankEnds ends(2);
  EXPECT_TRUE(ends.Add(Exit(1)));
  EXPECT_FALSE(ends.Add(Exit(1, 9)));
  EXPECT_FALSE(ends.Add(Lost(1)));
  EXPECT_FALSE(ends.Add(Exit(2)));
  EXPECT_FALSE(ends.Add(Exit(UINT32_MAX)));
}

TEST(RankEndsTest, ReportsKeepTheOrderOfTheEnds) {
  RankEnds ends(5);
  for (const RankEnd& end :
       {Exit(4, 256), Exit(0), Lost(1), Lost(2), Exit(3)}) {
    ends.Add(end);
  }
  const auto reports = ends.TakeUnsent("job");
  ASSERT_EQ(reports.size(), 3u);
  const auto& first = std::get<JobExits>(reports[0]);
  EXPECT_EQ(first.nspace, "job");
  ASSERT_EQ(first.exits.size(), 2u);
  EXPECT_EQ(first.exits[0].wait_status, 256);
  EXPECT_EQ(std::get<NodeLost>(reports[1]).ranks, (std::vector<Rank>{1, 2}));
  EXPECT_EQ(std::get<JobExits>(reports[2]).exits[0].rank, 3u);
}

TEST(RankEndsTest, EachEndIsSentOnceAndAgainAfterResend) {
  RankEnds ends(3);
  EXPECT_TRUE(ends.TakeUnsent("job").empty());
  ends.Add(Exit(0));
  EXPECT_EQ(ends.TakeUnsent("job").size(), 1u);
  EXPECT_TRUE(ends.TakeUnsent("job").empty());
  ends.Add(Exit(1));
  const auto more = ends.TakeUnsent("job");
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(std::get<JobExits>(more[0]).exits.size(), 1u);
  ends.Resend();
  EXPECT_EQ(std::get<JobExits>(ends.TakeUnsent("job")[0]).exits.size(), 2u);
}

TEST(RankEndsTest, OnlyTheLastRestartOfARankIsKept) {
  const auto restart = [](Rank rank, uint32_t incarnation) {
    return RankEnd{{rank, 9, false, true, false, incarnation, true}, false};
  };
  RankEnds ends(3);
  EXPECT_TRUE(ends.Add(restart(1, 0)));
  EXPECT_FALSE(ends.Add(restart(1, 0)));
  EXPECT_TRUE(ends.Add(restart(1, 1)));
  auto reports = ends.TakeUnsent("job");
  ASSERT_EQ(reports.size(), 1u);
  const auto& first = std::get<JobExits>(reports[0]).exits;
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].incarnation, 1u);
  EXPECT_TRUE(ends.TakeUnsent("job").empty());
  EXPECT_TRUE(ends.Add(Exit(1)));
  EXPECT_FALSE(ends.Add(restart(1, 2)));
  ends.TakeUnsent("job");
  ends.Resend();
  reports = ends.TakeUnsent("job");
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_TRUE(std::get<JobExits>(reports[0]).exits[0].restarted);
  EXPECT_FALSE(std::get<JobExits>(reports[1]).exits[0].restarted);
}

}  // namespace
}  // namespace canopy::core
