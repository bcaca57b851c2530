#include "server/core/event/event_records.h"

#include <gtest/gtest.h>

namespace canopy::core {
namespace {

TEST(EventRecords, DecodingRestoresTheRecord) {
  EventMessage event;
  event.origin = 3;
  event.number = 1ull << 40;
  event.request = 99;
  event.status = -147;
  event.source = {"job", 7};
  event.range = 6;
  event.targets = {{"job", 1}, {"other", 2}};
  event.info = Bytes("infos");
  const PersistRecord record = EncodeEvent({event, 70, 2});
  EXPECT_EQ(record.nspace, "job");
  const auto read = DecodeEvent({record.key, record.value});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->count, 70u);
  EXPECT_EQ(read->recovered, 2u);
  EXPECT_EQ(read->event.origin, event.origin);
  EXPECT_EQ(read->event.number, event.number);
  EXPECT_EQ(read->event.request, event.request);
  EXPECT_EQ(read->event.status, event.status);
  EXPECT_EQ(read->event.source, event.source);
  EXPECT_EQ(read->event.range, event.range);
  EXPECT_EQ(read->event.targets, event.targets);
  EXPECT_EQ(read->event.info.view(), "infos");
}

TEST(EventRecords, TheRecordsOfAJobAreBounded) {
  EventMessage event;
  event.source = {"job", 7};
  EXPECT_EQ(EncodeEvent({event, 1}).key,
            EncodeEvent({event, 1 + kEventsInJournal}).key);
  EXPECT_NE(EncodeEvent({event, 1}).key, EncodeEvent({event, 2}).key);
}

TEST(EventRecords, DecodingRefusesOtherTypesAndMalformedRecords) {
  EventMessage event;
  event.source = {"job", 7};
  const PersistRecord record = EncodeEvent({event, 1});
  EXPECT_FALSE(DecodeEvent({"commit x", record.value}));
  EXPECT_FALSE(DecodeEvent({record.key, Bytes("x")}));
  const PersistRecord none = NoEvent("job", 1);
  EXPECT_EQ(none.key, record.key);
  EXPECT_FALSE(DecodeEvent({none.key, none.value}));
}

}  // namespace
}  // namespace canopy::core
