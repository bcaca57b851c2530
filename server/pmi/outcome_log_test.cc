#include "server/pmi/outcome_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace canopy::pmi {
namespace {

TEST(OutcomeLogTest, AnOpenedLogReturnsTheAddedOutcomes) {
  const Outcome connected{Operation::kConnect, 0, 0, "job-2"};
  const Outcome disconnected{Operation::kDisconnect, 1, -7, "job-2"};
  const Outcome spawned{Operation::kSpawn, 7, 0, "job with blanks"};
  UniqueFd fd;
  {
    const auto log = OutcomeLog::Create();
    ASSERT_TRUE(log.ok());
    EXPECT_TRUE((*log)->all().empty());
    (*log)->Add(connected);
    (*log)->Add(disconnected);
    fd = DuplicateFd((*log)->fd());
  }
  {
    const auto log = OutcomeLog::Open(std::move(fd));
    EXPECT_EQ(log->all(), (std::vector{connected, disconnected}));
    log->Add(spawned);
    fd = DuplicateFd(log->fd());
  }
  EXPECT_EQ(OutcomeLog::Open(std::move(fd))->all(),
            (std::vector{connected, disconnected, spawned}));
}

TEST(OutcomeLogTest, AnIncompleteOutcomeIsOverwritten) {
  const Outcome first{Operation::kConnect, 0, 0, "a"};
  const Outcome second{Operation::kConnect, 1, 0, "b"};
  const auto created = OutcomeLog::Create();
  ASSERT_TRUE(created.ok());
  (*created)->Add(first);
  const std::string half = "c 1 0 some-other-j";
  ASSERT_EQ(pwrite((*created)->fd(), half.data(), half.size(), 8),
            static_cast<ssize_t>(half.size()));
  auto log = OutcomeLog::Open(DuplicateFd((*created)->fd()));
  EXPECT_EQ(log->all(), std::vector{first});
  log->Add(second);
  log = OutcomeLog::Open(DuplicateFd(log->fd()));
  EXPECT_EQ(log->all(), (std::vector{first, second}));
}

TEST(OutcomeLogTest, AMalformedLogIsEmpty) {
  for (const std::string text : {"", "\n", "x 1 0 a\n", "c\n", "c 1 a\n",
                                 "c -1 0 a\n", "c 1 0\n", "cc 1 0 a\n"}) {
    const auto log = OutcomeLog::Create();
    ASSERT_TRUE(log.ok());
    ASSERT_EQ(pwrite((*log)->fd(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
    EXPECT_TRUE(OutcomeLog::Open(DuplicateFd((*log)->fd()))->all().empty())
        << text;
  }
  EXPECT_TRUE(OutcomeLog::Open(UniqueFd())->all().empty());
}

TEST(OutcomeLogTest, TheSizeOfALogIsLimited) {
  const auto log = OutcomeLog::Create();
  ASSERT_TRUE(log.ok());
  const Outcome longest{Operation::kConnect, UINT64_MAX, -1,
                        std::string(255, 'j')};
  size_t count = 0;
  for (; (*log)->has_room(); ++count) (*log)->Add(longest);
  EXPECT_GT(count, 500u);
  EXPECT_EQ(OutcomeLog::Open(DuplicateFd((*log)->fd()))->all().size(), count);
}

}  // namespace
}  // namespace canopy::pmi
