#include "server/agent/journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace canopy::agent {
namespace {

std::string Text(const std::vector<core::KeptRecord>& records) {
  std::string out;
  for (const core::KeptRecord& record : records) {
    out += record.key + "=" + std::string(record.value.view()) + ";";
  }
  return out;
}

std::unique_ptr<Journal> Reopen(const Journal& journal) {
  auto again = Journal::Open(UniqueFd(fcntl(journal.fd(), F_DUPFD_CLOEXEC, 0)));
  EXPECT_TRUE(again.ok());
  return std::move(*again);
}

TEST(JournalTest, TheLastOfEachKeyIsFoundAgain) {
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  bool moved = true;
  for (const auto& [key, value] :
       {std::pair("a", "1"), {"b", ""}, {"a", "22"}, {"c", "3"}}) {
    ASSERT_TRUE((*journal)->Keep(key, value, &moved).ok());
    EXPECT_FALSE(moved);
  }
  EXPECT_EQ(Text(Reopen(**journal)->Records()), "b=;a=22;c=3;");
}

// As libraries commit all they have, again and again.
TEST(JournalTest, WhatIsThereIsNotWrittenAgain) {
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  bool moved = false;
  const std::string value(30000, 'x');
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE((*journal)->Keep("a", value, &moved).ok());
    EXPECT_FALSE(moved);
  }
  ASSERT_TRUE((*journal)->Keep("a", "y", &moved).ok());
  ASSERT_TRUE((*journal)->Keep("a", value, &moved).ok());
  EXPECT_EQ(Reopen(**journal)->Records()[0].value.view(), value);
}

TEST(JournalTest, GrowsWithWhatIsKept) {
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  bool moved = false;
  const std::string value(1 << 20, 'x');
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE((*journal)->Keep(std::to_string(i), value, &moved).ok());
  }
  const auto records = Reopen(**journal)->Records();
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[4].value.view(), value);
}

TEST(JournalTest, DoesNotGrowWithWhatIsReplaced) {
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  bool any_moved = false;
  for (int i = 0; i < 100000; ++i) {
    bool moved = false;
    ASSERT_TRUE(
        (*journal)
            ->Keep("key" + std::to_string(i % 7), std::to_string(i), &moved)
            .ok());
    any_moved |= moved;
  }
  EXPECT_TRUE(any_moved);
  EXPECT_LT(lseek((*journal)->fd(), 0, SEEK_END), 1 << 20);
  EXPECT_EQ(Reopen(**journal)->Records().size(), 7u);
}

TEST(JournalTest, WhatIsNoJournalIsRefused) {
  EXPECT_FALSE(Journal::Open(UniqueFd()).ok());
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  const uint64_t far = uint64_t{1} << 40;
  ASSERT_EQ(pwrite((*journal)->fd(), &far, sizeof far, 8),
            static_cast<ssize_t>(sizeof far));
  EXPECT_FALSE(
      Journal::Open(UniqueFd(fcntl((*journal)->fd(), F_DUPFD_CLOEXEC, 0)))
          .ok());
}

}  // namespace
}  // namespace canopy::agent
