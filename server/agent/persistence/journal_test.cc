#include "server/agent/persistence/journal.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/posix/unique_fd.h"

namespace canopy::agent {
namespace {

std::string Text(const std::vector<core::PersistedRecord>& records) {
  std::string out;
  for (const core::PersistedRecord& record : records) {
    out += record.key + "=" + std::string(record.value.view()) + ";";
  }
  return out;
}

std::unique_ptr<Journal> Reopen(const Journal& journal) {
  auto again = Journal::Open(DuplicateFd(journal.fd()));
  EXPECT_TRUE(again.ok());
  return std::move(*again);
}

TEST(JournalTest, AReopenedJournalHasTheLastValueOfEachKey) {
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  bool moved = true;
  for (const auto& [key, value] :
       {std::pair("a", "1"), {"b", ""}, {"a", "22"}, {"c", "3"}}) {
    ASSERT_TRUE((*journal)->Persist(key, value, &moved).ok());
    EXPECT_FALSE(moved);
  }
  EXPECT_EQ(Text(Reopen(**journal)->Records()), "b=;a=22;c=3;");
}

// Libraries commit all their data repeatedly.
TEST(JournalTest, AnUnchangedValueIsNotWrittenAgain) {
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  bool moved = false;
  const std::string value(30000, 'x');
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE((*journal)->Persist("a", value, &moved).ok());
    EXPECT_FALSE(moved);
  }
  ASSERT_TRUE((*journal)->Persist("a", "y", &moved).ok());
  ASSERT_TRUE((*journal)->Persist("a", value, &moved).ok());
  EXPECT_EQ(Reopen(**journal)->Records()[0].value.view(), value);
}

TEST(JournalTest, GrowsWithTheKeptValues) {
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  bool moved = false;
  const std::string value(1 << 20, 'x');
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE((*journal)->Persist(std::to_string(i), value, &moved).ok());
  }
  const auto records = Reopen(**journal)->Records();
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[4].value.view(), value);
}

uint64_t SizeOf(const Journal& journal) {
  return static_cast<uint64_t>(lseek(journal.fd(), 0, SEEK_END));
}

TEST(JournalTest, DoesNotGrowWithReplacedValues) {
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  const std::string value(3000, 'x');
  for (int i = 0; i < 100000; ++i) {
    bool moved = true;
    ASSERT_TRUE((*journal)
                    ->Persist("key" + std::to_string(i % 7),
                              value + std::to_string(i), &moved)
                    .ok());
    ASSERT_FALSE(moved);
  }
  EXPECT_LE(SizeOf(**journal), 128u << 10);
  EXPECT_EQ(Reopen(**journal)->Records().size(), 7u);
}

TEST(JournalTest, MovesWhenMostOfItIsReplacedValues) {
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  bool any_moved = false;
  std::string value;
  for (int i = 0; i < 5000; ++i) {
    value += 'x';
    bool moved = false;
    ASSERT_TRUE((*journal)->Persist("key", value, &moved).ok());
    any_moved |= moved;
  }
  EXPECT_TRUE(any_moved);
  EXPECT_LT(SizeOf(**journal), 1u << 20);
  EXPECT_EQ(Reopen(**journal)->Records()[0].value.view(), value);
}

// The order of records decides which value is valid if a process has put one
// key in several scopes, because each scope is a separate key here.
TEST(JournalTest, RecordsAreInTheOrderOfTheirLastValues) {
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  bool moved = false;
  std::string expected;
  for (int i = 0; i < 30; ++i) {
    const std::string key = i % 3 == 0 ? "b" : "a";
    ASSERT_TRUE((*journal)->Persist(key, std::to_string(i), &moved).ok());
    if (i == 0) continue;
    const std::string last_b = std::to_string(i / 3 * 3);
    const std::string last_a = std::to_string(i % 3 == 0 ? i - 1 : i);
    expected = "b=" + last_b + ";a=" + last_a + ";";
    if (i % 3 == 0) expected = "a=" + last_a + ";b=" + last_b + ";";
    EXPECT_EQ(Text(Reopen(**journal)->Records()), expected);
  }
  // The next record of a reopened journal follows all earlier records.
  auto next = Reopen(**journal);
  ASSERT_TRUE(next->Persist("b", "x", &moved).ok());
  EXPECT_EQ(Text(next->Records()), "a=29;b=x;");
}

// In the first format, a record had one value.
TEST(JournalTest, AJournalOfTheFirstFormatIsRead) {
  std::string file("CAPJ\1\0\0\0", 8);
  const auto number = [&](uint64_t value, size_t bytes) {
    file.append(reinterpret_cast<const char*>(&value), bytes);
  };
  number(0, 8);
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>("a", "1"), {"b", ""}, {"a", "2"}}) {
    number(key.size(), 4);
    number(value.size(), 4);
    file += key + value;
    file.resize((file.size() + 7) / 8 * 8);
  }
  const uint64_t used = file.size();
  file.replace(8, 8, reinterpret_cast<const char*>(&used), 8);
  file.resize(64 << 10);
  UniqueFd fd(memfd_create("first", MFD_CLOEXEC));
  ASSERT_EQ(write(fd.get(), file.data(), file.size()),
            static_cast<ssize_t>(file.size()));
  auto journal = Journal::Open(std::move(fd));
  ASSERT_TRUE(journal.ok());
  EXPECT_EQ(Text((*journal)->Records()), "b=;a=2;");
  bool moved = false;
  ASSERT_TRUE((*journal)->Persist("a", "3", &moved).ok());
  EXPECT_EQ(Text(Reopen(**journal)->Records()), "b=;a=3;");
}

TEST(JournalTest, AMalformedJournalIsRefused) {
  EXPECT_FALSE(Journal::Open(UniqueFd()).ok());
  auto journal = Journal::Create();
  ASSERT_TRUE(journal.ok());
  const uint64_t far = uint64_t{1} << 40;
  ASSERT_EQ(pwrite((*journal)->fd(), &far, sizeof far, 8),
            static_cast<ssize_t>(sizeof far));
  EXPECT_FALSE(Journal::Open(DuplicateFd((*journal)->fd())).ok());
}

}  // namespace
}  // namespace canopy::agent
