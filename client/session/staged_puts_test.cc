#include "client/session/staged_puts.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/stored_key.h"
#include "common/describe.h"
#include "common/local/data.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

struct Entry {
  pmix_scope_t scope = PMIX_SCOPE_UNDEF;
  std::string key;
  Value value;

  bool operator==(const Entry&) const = default;
};
using Entries = std::vector<Entry>;

// Returns the entries of a frame in the order in which an agent reads them.
Entries Parse(const std::string& frame) {
  Entries entries;
  local::Commit commit;
  EXPECT_TRUE(wire::Decode(frame, &commit));
  for (const auto& [scope, kvals] : commit.scopes) {
    Decoder decoder(kvals);
    KvalView kval;
    while (!decoder.AtEnd() && decoder.GetKval(&kval)) {
      entries.push_back(
          {scope, std::string(kval.key), *DecodeValue(kval.value)});
    }
  }
  return entries;
}

Entry Alone(pmix_scope_t side, const std::string& key, bool alone) {
  return {side, ScopeNameOf(key), Value::Bool(alone)};
}

class StagedPutsTest : public testing::Test {
 protected:
  void Put(pmix_scope_t scope, const std::string& key, int number) {
    ASSERT_EQ(puts_.Stage(scope, key, Value::Int(number).raw()), PMIX_SUCCESS);
  }
  Entries Take() { return Parse(puts_.TakeFrame()); }
  Entries Committed() const { return Parse(puts_.CommittedFrame()); }

  StagedPuts puts_;
};

TEST_F(StagedPutsTest, AKeyMayHaveAValueForEachScope) {
  Put(PMIX_REMOTE, "k", 1);
  Put(PMIX_LOCAL, "k", 2);
  const Entries expected = {Alone(PMIX_REMOTE, "k", true),
                            {PMIX_REMOTE, "k", Value::Int(1)},
                            Alone(PMIX_LOCAL, "k", true),
                            {PMIX_LOCAL, "k", Value::Int(2)}};
  EXPECT_EQ(Take(), expected);
  EXPECT_EQ(Take(), Entries{});
  EXPECT_EQ(Committed(), expected);
}

TEST_F(StagedPutsTest, APutReplacesTheValueOfItsScope) {
  Put(PMIX_GLOBAL, "k", 1);
  Put(PMIX_GLOBAL, "k", 2);
  EXPECT_EQ(Take(), (Entries{{PMIX_GLOBAL, "k", Value::Int(2)}}));
}

TEST_F(StagedPutsTest, GlobalReplacesBothSides) {
  Put(PMIX_LOCAL, "k", 1);
  Put(PMIX_REMOTE, "k", 2);
  Put(PMIX_GLOBAL, "k", 3);
  EXPECT_EQ(Take(), (Entries{{PMIX_GLOBAL, "k", Value::Int(3)},
                             Alone(PMIX_REMOTE, "k", false),
                             Alone(PMIX_LOCAL, "k", false)}));
}

TEST_F(StagedPutsTest, AOneSidedPutFollowsTheGlobalPutInTheCommit) {
  Put(PMIX_GLOBAL, "k", 1);
  Put(PMIX_LOCAL, "k", 2);
  EXPECT_EQ(Take(), (Entries{{PMIX_GLOBAL, "k", Value::Int(1)},
                             Alone(PMIX_LOCAL, "k", true),
                             {PMIX_LOCAL, "k", Value::Int(2)}}));
}

TEST_F(StagedPutsTest, ASuccessorGetsAllCommitsAsOne) {
  Put(PMIX_LOCAL, "k", 1);
  (void)Take();
  Put(PMIX_GLOBAL, "k", 2);
  EXPECT_EQ(Take(), (Entries{{PMIX_GLOBAL, "k", Value::Int(2)},
                             Alone(PMIX_LOCAL, "k", false)}));
  Put(PMIX_REMOTE, "k", 3);
  (void)Take();
  EXPECT_EQ(Committed(), (Entries{{PMIX_GLOBAL, "k", Value::Int(2)},
                                  Alone(PMIX_REMOTE, "k", true),
                                  {PMIX_REMOTE, "k", Value::Int(3)},
                                  Alone(PMIX_LOCAL, "k", false)}));
}

TEST_F(StagedPutsTest, TheScopesOfAKeyAreSentOnlyWhenTheyChange) {
  Put(PMIX_LOCAL, "k", 1);
  (void)Take();
  Put(PMIX_LOCAL, "k", 2);
  EXPECT_EQ(Take(), (Entries{{PMIX_LOCAL, "k", Value::Int(2)}}));
}

}  // namespace
}  // namespace canopy::client
