#include "server/core/collective/group_record.h"

#include <gtest/gtest.h>

namespace canopy::core {
namespace {

GroupRecord Example() {
  GroupRecord record;
  record.flags = kGroupNotifies;
  record.context_id = 77;
  record.leader = {"a", 3};
  record.missing = {{"a", 1}, {"b", 2}};
  record.num_shared = 2;
  record.shared = "two infos";
  record.made = 4711;
  record.restarted = {{{"a", 4}, 2}};
  return record;
}

TEST(GroupRecord, DecodingRestoresTheRecord) {
  const auto back = DecodeGroupRecord(EncodeGroupRecord(Example()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->flags, kGroupNotifies);
  EXPECT_EQ(back->context_id, 77u);
  EXPECT_EQ(back->leader, (ProcId{"a", 3}));
  EXPECT_EQ(back->missing, Example().missing);
  EXPECT_EQ(back->num_shared, 2u);
  EXPECT_EQ(back->shared, "two infos");
  EXPECT_EQ(back->made, 4711u);
  EXPECT_EQ(back->restarted, Example().restarted);
}

TEST(GroupRecord, MalformedBytesAreRejected) {
  const Bytes whole = EncodeGroupRecord(Example());
  EXPECT_FALSE(DecodeGroupRecord(Bytes()));
  EXPECT_FALSE(DecodeGroupRecord(whole.Slice(0, whole.size() - 1)));
  EXPECT_FALSE(EncodeGroupRecord(GroupRecord()).empty());
}

TEST(GroupRecord, ARecordWithMoreInfosThanBytesIsMalformed) {
  GroupRecord record = Example();
  record.num_shared = record.shared.size() + 1;
  EXPECT_FALSE(DecodeGroupRecord(EncodeGroupRecord(record)));
}

TEST(GroupRecord, MergeKeepsTheFirstLeader) {
  GroupRecord all;
  EXPECT_FALSE(all.tolerant());
  all.Merge(Example());
  GroupRecord other = Example();
  other.flags = kGroupAssignsContextId;
  other.leader = {"b", 0};
  all.Merge(other);
  EXPECT_EQ(all.flags, kGroupNotifies | kGroupAssignsContextId);
  EXPECT_TRUE(all.tolerant());
  EXPECT_EQ(all.leader, (ProcId{"a", 3}));
  EXPECT_EQ(all.missing.size(), 4u);
  EXPECT_EQ(all.num_shared, 4u);
  EXPECT_EQ(all.restarted.size(), 2u);
  // Context ids are assigned to the result, not merged.
  EXPECT_EQ(all.context_id, 0u);
}

}  // namespace
}  // namespace canopy::core
