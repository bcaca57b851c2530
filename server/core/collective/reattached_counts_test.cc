#include "server/core/collective/reattached_counts.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

using Procs = std::vector<ProcId>;

TEST(ReattachedCounts, CountsUnderSeveralNotationsOfAGroupAreAdded) {
  JobTable jobs(0);
  jobs.Add(JobOn("job", {0, 0}));
  const auto counts = CountsOf(
      {{CollectiveOp::kGroupDestruct, {{"job", 0}, {"job", 1}}, 2, "g"},
       {CollectiveOp::kGroupDestruct, {{"", kRankWildcard}}, 3, "g"},
       {CollectiveOp::kFence, {}, 7}},
      {"job", 0}, jobs);
  ASSERT_EQ(counts.size(), 2u);
  for (const auto& [id, ended] : counts) {
    EXPECT_EQ(id.participants, (Procs{{"job", kRankWildcard}}));
    EXPECT_EQ(ended, IsGroupOp(id.op) ? 5u : 7u);
  }
}

TEST(ReattachedCounts, InvalidCountsAreIgnored) {
  const JobTable jobs(0);
  EXPECT_TRUE(CountsOf({{CollectiveOp::kGroupDestruct, {}, 1, "g"},
                        {CollectiveOp::kGroupDestruct, {{"job", 0}}, 1, ""},
                        {CollectiveOp::kFence, {{"job", kRankUndef}}, 1}},
                       {"job", 0}, jobs)
                  .empty());
}

TEST(ReattachedCounts, RenameCountsMovesCountsWhenTheMapIsKnown) {
  JobTable jobs(0);
  SeriesTable table;
  const ProcId proc{"job", 0};
  const CollectiveId listed{
      CollectiveOp::kGroupDestruct, {{"job", 0}, {"job", 1}}, 0, "g"};
  table.FindOrAdd(listed).reattached[proc] = 4;
  RenameCounts("job", jobs, &table);
  EXPECT_EQ(table.size(), 1u) << "the map is not here";
  jobs.Add(JobOn("job", {0, 0}));
  RenameCounts("job", jobs, &table);
  EXPECT_TRUE(table.Find(listed)->reattached.empty());
  const CollectiveId whole{
      CollectiveOp::kGroupDestruct, {{"job", kRankWildcard}}, 0, "g"};
  ASSERT_NE(table.Find(whole), nullptr);
  EXPECT_EQ(table.Find(whole)->reattached.at(proc), 4u);
}

}  // namespace
}  // namespace canopy::core
