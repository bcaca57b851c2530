#include "server/core/collective/series_table.h"

#include <gtest/gtest.h>

namespace canopy::core {
namespace {

CollectiveId Id(const std::string& nspace, Rank rank) {
  return {CollectiveOp::kFence, {{nspace, rank}}, 0};
}

TEST(SeriesTable, EachOperationOnAListHasOneSeries) {
  SeriesTable table;
  Series& a = table.FindOrAdd(Id("a", 0));
  EXPECT_EQ(table.FindOrAddFor("b", Id("a", 0)), &a);
  CollectiveId connect = Id("a", 0);
  connect.op = CollectiveOp::kConnect;
  connect.sequence = 5;
  EXPECT_NE(&table.FindOrAdd(connect), &a);
  EXPECT_EQ(table.size(), 2u);
  table.Erase(a);
  EXPECT_EQ(table.size(), 1u);
}

TEST(SeriesTable, SeriesOfAJobAreLimited) {
  SeriesTable table;
  for (Rank rank = 0; rank < kMaxSeriesOfJob; ++rank) {
    ASSERT_NE(table.FindOrAddFor("greedy", Id("greedy", rank)), nullptr);
  }
  EXPECT_EQ(table.FindOrAddFor("greedy", Id("other", 0)), nullptr);
  EXPECT_NE(table.FindOrAddFor("greedy", Id("greedy", 0)), nullptr);
  EXPECT_NE(table.FindOrAddFor("other", Id("other", 0)), nullptr);
  table.Erase(table.FindOrAdd(Id("greedy", 7)));
  EXPECT_NE(table.FindOrAddFor("greedy", Id("greedy", kMaxSeriesOfJob)),
            nullptr);
}

TEST(SeriesTable, TheParticipantsOfAJobsSeriesAreLimited) {
  SeriesTable table;
  CollectiveId large = Id("job", 0);
  large.participants.resize(kMaxParticipantsOfJob, {"job", 0});
  Series* series = table.FindOrAddFor("job", large);
  ASSERT_NE(series, nullptr);
  EXPECT_EQ(table.FindOrAddFor("job", Id("job", 1)), nullptr);
  table.Erase(*series);
  EXPECT_NE(table.FindOrAddFor("job", Id("job", 1)), nullptr);
}

TEST(SeriesTable, DeadlinesExpireInOrderAndEndWithTheirSeries) {
  SeriesTable table;
  Series& a = table.FindOrAdd(Id("a", 0));
  Series& b = table.FindOrAdd(Id("b", 0));
  std::vector<DeadlineKey> keys;
  table.AddDeadline(a, 1, 0, 20, &keys);
  table.AddDeadline(b, 2, 0, 10, &keys);
  table.AddDeadline(b, 3, 0, 30, &keys);
  EXPECT_EQ(table.NextDeadline(), 10);
  EXPECT_FALSE(table.TakeExpired(9));
  const auto first = table.TakeExpired(20);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->series, &b);
  EXPECT_EQ(first->sequence, 2u);
  table.Cancel({keys[0]});
  EXPECT_EQ(table.NextDeadline(), 30);
  table.Erase(b);
  EXPECT_EQ(table.num_deadlines(), 0u);
  EXPECT_EQ(table.NextDeadline(), kNever);
}

}  // namespace
}  // namespace canopy::core
