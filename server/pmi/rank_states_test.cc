#include "server/pmi/rank_states.h"

#include <gtest/gtest.h>

#include <utility>

#include "common/posix/unique_fd.h"

namespace canopy::pmi {
namespace {

TEST(RankStatesTest, ANewFileHasDefaultStates) {
  const auto states = RankStates::Create(3);
  ASSERT_TRUE(states.ok());
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ((*states)->Get(i), RankState());
}

TEST(RankStatesTest, AnOpenedFileHasTheStatesThatWereSet) {
  RankState waiting;
  waiting.initialized = true;
  waiting.barriers = 3;
  RankState answered = waiting;
  answered.answering = true;
  answered.status = -25;
  answered.barriers = (uint64_t{1} << 40) - 1;
  RankState version_2;
  version_2.initialized = true;
  version_2.pmi2 = true;
  version_2.threaded = true;
  version_2.odd_ring = true;
  RankState done;
  done.initialized = true;
  done.finalized = true;
  UniqueFd fd;
  {
    const auto states = RankStates::Create(4);
    ASSERT_TRUE(states.ok());
    (*states)->Set(0, waiting);
    (*states)->Set(1, answered);
    (*states)->Set(2, version_2);
    (*states)->Set(3, done);
    fd = DuplicateFd((*states)->fd());
  }
  const auto states = RankStates::Open(std::move(fd), 4);
  ASSERT_TRUE(states.ok());
  EXPECT_EQ((*states)->Get(0), waiting);
  EXPECT_EQ((*states)->Get(1), answered);
  EXPECT_EQ((*states)->Get(2), version_2);
  EXPECT_EQ((*states)->Get(3), done);
}

TEST(RankStatesTest, ChangeStatesAreStoredInAFileOfTheirOwn) {
  const ChangeState answered{true, -46, (uint64_t{1} << 40) - 1};
  UniqueFd states_fd, changes_fd;
  {
    const auto states = RankStates::Create(2);
    ASSERT_TRUE(states.ok());
    (*states)->SetChange(1, answered);
    states_fd = DuplicateFd((*states)->fd());
    changes_fd = DuplicateFd((*states)->changes_fd());
  }
  const auto states = RankStates::Open(std::move(states_fd), 2);
  ASSERT_TRUE(states.ok());
  EXPECT_EQ((*states)->changes_fd(), -1);
  EXPECT_EQ((*states)->GetChange(1), ChangeState());
  ASSERT_TRUE((*states)->AdoptChanges(std::move(changes_fd)).ok());
  EXPECT_EQ((*states)->GetChange(1), answered);
  EXPECT_EQ((*states)->GetChange(0), ChangeState());
  EXPECT_EQ((*states)->Get(1), RankState());
}

TEST(RankStatesTest, AFileOfAnotherSizeIsRefused) {
  const auto states = RankStates::Create(4);
  ASSERT_TRUE(states.ok());
  EXPECT_EQ(RankStates::Open(DuplicateFd((*states)->fd()), 5).code(),
            kErrBadParam);
  EXPECT_EQ(RankStates::Open(UniqueFd(), 4).code(), kErrBadParam);
}

}  // namespace
}  // namespace canopy::pmi
