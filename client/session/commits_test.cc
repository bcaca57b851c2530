// The tests with a mailbox are in client/abi/commit_abi_test.cc.
#include "client/session/commits.h"

#include <gtest/gtest.h>

#include <string>

#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {
namespace {

using Outcome = Commits::Outcome;

bool Alive() { return false; }

TEST(Commits, WithoutAMailboxACommitIsAMessage) {
  Commits commits(nullptr);
  ASSERT_EQ(commits.staged().Stage(PMIX_GLOBAL, "key", Value::Uint32(1).raw()),
            PMIX_SUCCESS);
  std::string frame;
  EXPECT_EQ(commits.Commit(Alive, &frame), Outcome::kMessage);
  EXPECT_FALSE(frame.empty());
  EXPECT_FALSE(commits.TakeNoted()) << "the agent does not have it yet";
}

TEST(Commits, ACommitWithoutPutsReturnsAnEmptyFrame) {
  Commits commits(nullptr);
  std::string frame;
  EXPECT_EQ(commits.Commit(Alive, &frame), Outcome::kWritten);
  EXPECT_TRUE(frame.empty());
}

TEST(Commits, TakeNotedReturnsTrueOnceAfterNotes) {
  Commits commits(nullptr);
  commits.Note();
  commits.Note();
  EXPECT_TRUE(commits.TakeNoted());
  EXPECT_FALSE(commits.TakeNoted());
}

}  // namespace
}  // namespace canopy::client
