#include "server/core/collective/collective_records.h"

#include <gtest/gtest.h>

#include "common/status.h"

namespace canopy::core {
namespace {

const CollectiveId kId = {
    CollectiveOp::kConnect, {{"a", kRankWildcard}, {"b", 3}}, 0};

PersistRecord Encode(uint64_t sequence, int status) {
  return EncodeCollective("a", kId, {sequence, status, true, false});
}

PersistedRecord Persisted(const PersistRecord& record) {
  return {record.key, record.value};
}

TEST(CollectiveRecords, DecodingRestoresTheRecord) {
  for (const int status : {kSuccess, kErrTimeout}) {
    const PersistRecord record = Encode(7, status);
    EXPECT_EQ(record.nspace, "a");
    const auto back = DecodeCollective(Persisted(record));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->first.op, kId.op);
    EXPECT_EQ(back->first.participants, kId.participants);
    EXPECT_EQ(back->second.sequence, 7u);
    EXPECT_EQ(back->second.status, status);
    EXPECT_TRUE(back->second.connected);
    EXPECT_FALSE(back->second.collect);
  }
}

TEST(CollectiveRecords, AGroupsRecordContainsItsResultAndTheMembersThatLeft) {
  const CollectiveId id = {CollectiveOp::kGroupConstruct, {{"a", 1}}, 0, "g"};
  const CollectiveRecord record{2,     kSuccess,        true,
                                false, Bytes("result"), {{"a", 1}, {"b", 2}}};
  const auto back =
      DecodeCollective(Persisted(EncodeCollective("a", id, record)));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->first.name, "g");
  EXPECT_EQ(back->second.result.view(), "result");
  EXPECT_EQ(back->second.left, record.left);
}

TEST(CollectiveRecords, ALaterSuccessReplacesTheRecordOfTheEarlierOne) {
  const auto key = [](uint64_t sequence, int status) {
    return Encode(sequence, status).key;
  };
  EXPECT_EQ(key(1, kSuccess), key(2, kSuccess));
  EXPECT_NE(key(1, kErrTimeout), key(2, kErrTimeout));
  EXPECT_NE(key(1, kErrTimeout), key(1, kSuccess));
}

// An empty value would erase the record.
TEST(CollectiveRecords, TheValueOfARecordIsNeverEmpty) {
  const PersistRecord record =
      EncodeCollective("a", kId, {0, kSuccess, false, false});
  EXPECT_FALSE(record.value.empty());
  const auto back = DecodeCollective(Persisted(record));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->second.sequence, 0u);
}

TEST(CollectiveRecords, DecodingRefusesOtherTypesAndMalformedRecords) {
  PersistedRecord record = Persisted(Encode(7, kSuccess));
  EXPECT_FALSE(DecodeCollective({"commit 1", record.value}));
  EXPECT_FALSE(DecodeCollective({record.key.substr(0, 14), record.value}));
  EXPECT_FALSE(DecodeCollective({record.key, Bytes()}));
}

}  // namespace
}  // namespace canopy::core
