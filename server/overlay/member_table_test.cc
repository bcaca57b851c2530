#include "server/overlay/member_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace canopy::overlay {
namespace {

MemberState Up(NodeId node, uint64_t incarnation) {
  return {node, incarnation, true, "", "host"};
}
MemberState Down(NodeId node, uint64_t incarnation) {
  return {node, incarnation, false, "gone", ""};
}

TEST(MemberTableTest, MembersAreUnknownAtFirst) {
  MemberTable table(2);
  EXPECT_FALSE(table.Known(0));
  EXPECT_FALSE(table.Up(0));
  EXPECT_FALSE(table.Down(0));
  EXPECT_EQ(table.up_count(), 0u);
}

TEST(MemberTableTest, AnIncarnationThatIsDownIsNeverUpAgain) {
  MemberTable table(2);
  EXPECT_TRUE(table.Merge(Up(1, 5)));
  EXPECT_FALSE(table.Merge(Up(1, 5)));
  EXPECT_TRUE(table.Merge(Down(1, 5)));
  EXPECT_FALSE(table.Merge(Up(1, 5)));
  EXPECT_FALSE(table.Merge(Down(1, 4)));
  EXPECT_TRUE(table.Down(1));
  EXPECT_TRUE(table.Merge(Up(1, 6)));
  EXPECT_FALSE(table.Merge(Down(1, 5)));
  EXPECT_TRUE(table.Up(1));
  EXPECT_EQ(table.up_count(), 1u);
}

TEST(MemberTableTest, ADescriptionStaysForTheIncarnationThatItDescribes) {
  MemberState described = Up(1, 5);
  described.description = "8 cores";
  MemberState absent = Up(1, 5);
  absent.absences = 1;
  MemberTable table(2);
  EXPECT_TRUE(table.Merge(absent));
  EXPECT_TRUE(table.Merge(described)) << "an older state, but it describes";
  EXPECT_FALSE(table.Merge(described));
  EXPECT_TRUE(table.Absent(1));
  absent.absences = 2;
  EXPECT_TRUE(table.Merge(absent));
  EXPECT_EQ(table.State(1).description, "8 cores");
  EXPECT_TRUE(table.Merge(Down(1, 5)));
  EXPECT_EQ(table.State(1).description, "");
  EXPECT_FALSE(table.Merge(described));
  EXPECT_TRUE(table.Merge(Up(1, 6)));
  EXPECT_EQ(table.State(1).description, "");
}

MemberRecord RecordOf(NodeId node, uint64_t version, Service service) {
  MemberRecord record;
  record.node = node;
  record.version = version;
  record.service = service;
  return record;
}

TEST(MemberTableTest, ARecordOfTheNextNumberAddsAMemberWhoseStateIsUnknown) {
  MemberTable table(2);
  EXPECT_FALSE(table.Merge(Up(2, 1)));
  EXPECT_FALSE(table.MergeRecord(RecordOf(3, 1, Service::kInService)));
  EXPECT_FALSE(table.MergeRecord(RecordOf(2, 0, Service::kInService)));
  EXPECT_TRUE(table.MergeRecord(RecordOf(2, 1, Service::kInService)));
  EXPECT_EQ(table.size(), 3u);
  EXPECT_FALSE(table.Known(2));
  EXPECT_TRUE(table.Merge(Up(2, 1)));
}

TEST(MemberTableTest, TheNewestRecordCountsAndARemovalIsFinal) {
  MemberTable table(2);
  EXPECT_EQ(table.Record(1), nullptr);
  EXPECT_TRUE(table.MergeRecord(RecordOf(1, 2, Service::kDrained)));
  EXPECT_FALSE(table.MergeRecord(RecordOf(1, 1, Service::kInService)));
  EXPECT_FALSE(table.MergeRecord(RecordOf(1, 2, Service::kDrained)));
  EXPECT_EQ(table.Record(1)->service, Service::kDrained);
  EXPECT_TRUE(table.MergeRecord(RecordOf(1, 1, Service::kRemoved)));
  EXPECT_FALSE(table.MergeRecord(RecordOf(1, 9, Service::kInService)));
  EXPECT_TRUE(table.Removed(1));
  EXPECT_EQ(table.num_kept(), 1u);
}

TEST(MemberTableTest, RecordsOfTwoRootsConvergeInAnyOrder) {
  MemberRecord a = RecordOf(2, 1, Service::kInService);
  a.name = "a";
  MemberRecord b = a;
  b.name = "b";
  MemberTable one(2);
  MemberTable other(2);
  one.MergeRecord(a);
  one.MergeRecord(b);
  other.MergeRecord(b);
  other.MergeRecord(a);
  EXPECT_EQ(*one.Record(2), *other.Record(2));
}

TEST(MemberTableTest, ClearKeepsRecords) {
  MemberTable table(1);
  table.MergeRecord(RecordOf(1, 1, Service::kDrained));
  table.Merge(Up(1, 4));
  table.Clear();
  EXPECT_FALSE(table.Known(1));
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.Record(1)->service, Service::kDrained);
}

TEST(MemberTableTest, AbsencesAreOrderedWithinOneIncarnation) {
  MemberTable table(2);
  const auto absent = [](uint64_t incarnation, uint32_t absences) {
    MemberState state = Up(1, incarnation);
    state.absences = absences;
    return state;
  };
  EXPECT_TRUE(table.Merge(Up(1, 5)));
  EXPECT_FALSE(table.Absent(1));
  EXPECT_TRUE(table.Merge(absent(5, 1)));
  EXPECT_TRUE(table.Absent(1));
  EXPECT_FALSE(table.Merge(Up(1, 5)));
  EXPECT_TRUE(table.Merge(absent(5, 2)));
  EXPECT_FALSE(table.Absent(1));
  EXPECT_FALSE(table.Merge(absent(5, 1))) << "late";
  EXPECT_TRUE(table.Merge(absent(5, 3)));
  EXPECT_TRUE(table.Merge(Up(1, 6)));
  EXPECT_FALSE(table.Absent(1)) << "another agent";
  EXPECT_TRUE(table.Merge(absent(6, 1)));
  EXPECT_TRUE(table.Merge(Down(1, 6)));
  EXPECT_FALSE(table.Absent(1));
  EXPECT_FALSE(table.Merge(absent(6, 3)));
}

TEST(MemberTableTest, AMemberOfIncarnationZeroCanOnlyBeDown) {
  MemberTable table(2);
  EXPECT_FALSE(table.Merge(Up(1, 0)));
  EXPECT_TRUE(table.Merge(Down(1, 0)));
  EXPECT_TRUE(table.Merge(Up(1, 1)));
}

TEST(MemberTableTest, NodesOutsideTheOverlayAreIgnored) {
  MemberTable table(2);
  EXPECT_FALSE(table.Merge(Up(2, 1)));
  EXPECT_FALSE(table.Merge(Up(UINT32_MAX, 1)));
}

TEST(MemberTableTest, StatesMergedInAnyOrderGiveTheSameTable) {
  std::vector<MemberState> states;
  for (uint64_t i = 1; i < 5; ++i) {
    states.push_back(Up(i % 2, i));
    states.push_back(Down(i % 2, i - 1));
  }
  states.push_back(Down(1, 3));
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    std::shuffle(states.begin(), states.end(), random);
    MemberTable table(2);
    for (const auto& s : states) table.Merge(s);
    EXPECT_EQ(table.Incarnation(0), 4u);
    EXPECT_EQ(table.Incarnation(1), 3u);
    EXPECT_TRUE(table.Up(0));
    EXPECT_FALSE(table.Up(1));
    EXPECT_EQ(table.up_count(), 1u);
  }
}

}  // namespace
}  // namespace canopy::overlay
