#include "server/core/journal_key.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::core {
namespace {

// A predecessor of another release has stored these names.
TEST(JournalKeyTest, TheStoredNamesNeverChange) {
  EXPECT_EQ(KeyOf(JournalRecordType::kController), "controller");
  EXPECT_EQ(KeyOf(JournalRecordType::kCollective), "collective ");
  EXPECT_EQ(KeyOf(JournalRecordType::kCommit), "commit ");
  EXPECT_EQ(KeyOf(JournalRecordType::kPublication), "publication ");
  EXPECT_EQ(KeyOf(JournalRecordType::kLookup), "lookup ");
  EXPECT_EQ(KeyOf(JournalRecordType::kHostCall), "hostcall ");
  EXPECT_EQ(KeyOf(JournalRecordType::kHeld), "held ");
  EXPECT_EQ(KeyOf(JournalRecordType::kInputRun), "inputrun");
}

TEST(JournalKeyTest, ReadKeyRestoresTypeAndIdentifier) {
  for (const auto type :
       {JournalRecordType::kController, JournalRecordType::kCollective,
        JournalRecordType::kCommit, JournalRecordType::kPublication,
        JournalRecordType::kLookup, JournalRecordType::kHostCall,
        JournalRecordType::kHeld, JournalRecordType::kInputRun}) {
    const std::string key = KeyOf(type, JournalSlot{7});
    JournalSlot slot;
    ASSERT_TRUE(ReadKey(type, key, &slot));
    EXPECT_EQ(slot.slot, 7u);
    EXPECT_TRUE(IsKeyOf(type, key));
  }
}

TEST(JournalKeyTest, MalformedIdentifiersAreRejected) {
  JournalSlot slot;
  EXPECT_FALSE(ReadKey(JournalRecordType::kEvent, "event \x08", &slot));
  EXPECT_FALSE(ReadKey(JournalRecordType::kLookup,
                       KeyOf(JournalRecordType::kEvent, JournalSlot{7}),
                       &slot));
}

TEST(JournalKeyTest, KeysOfUnknownTypesAreRejected) {
  for (const char* key : {"", "c", "commit", "group x", "Commit x"}) {
    EXPECT_FALSE(ParseKey(key)) << key;
  }
}

}  // namespace
}  // namespace canopy::core
