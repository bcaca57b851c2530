#include "server/core/journal_key.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::core {
namespace {

// Agents of other releases have stored these names and will read them.
TEST(JournalKeyTest, TheStoredNamesStay) {
  EXPECT_EQ(BeginKey(JournalRecordType::kController).str(), "controller");
  EXPECT_EQ(BeginKey(JournalRecordType::kCollective).str(), "collective ");
  EXPECT_EQ(BeginKey(JournalRecordType::kCommit).str(), "commit ");
  EXPECT_EQ(BeginKey(JournalRecordType::kPublication).str(), "publication ");
  EXPECT_EQ(BeginKey(JournalRecordType::kLookup).str(), "lookup ");
  EXPECT_EQ(BeginKey(JournalRecordType::kHostCall).str(), "hostcall ");
  EXPECT_EQ(BeginKey(JournalRecordType::kHeld).str(), "held ");
  EXPECT_EQ(BeginKey(JournalRecordType::kInputRun).str(), "inputrun");
}

TEST(JournalKeyTest, ATypeAndWhatFollowsComeBack) {
  for (const auto type :
       {JournalRecordType::kController, JournalRecordType::kCollective,
        JournalRecordType::kCommit, JournalRecordType::kPublication,
        JournalRecordType::kLookup, JournalRecordType::kHostCall,
        JournalRecordType::kHeld, JournalRecordType::kInputRun}) {
    WireWriter writer = BeginKey(type);
    writer.Uint(7);
    const std::string key = writer.Take();
    const auto parsed = ParseKey(key);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->type, type);
    EXPECT_EQ(parsed->id, "\7");
  }
}

TEST(JournalKeyTest, OtherTypesAreUnknown) {
  for (const char* key : {"", "c", "commit", "group x", "Commit x"}) {
    EXPECT_FALSE(ParseKey(key)) << key;
  }
}

}  // namespace
}  // namespace canopy::core
