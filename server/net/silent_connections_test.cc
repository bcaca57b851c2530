#include "server/net/silent_connections.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

namespace canopy::net {
namespace {

using Id = SilentConnections::Id;
using State = SilentConnections::State;

constexpr int64_t kTimeout = 1000;

class SilentConnectionsTest : public ::testing::Test {
 protected:
  SilentConnectionsTest()
      : silent_({{.timeout_ns = kTimeout,
                  .per_source = 4,
                  .per_trusted = 5,
                  .total = 8,
                  .patience = 2},
                 [this](const Source& s) { return trusted_.contains(s.name); },
                 [this](Id id) {
                   const auto it = states_.find(id);
                   return it == states_.end() ? State::kSilent : it->second;
                 }}) {}

  static Source From(const std::string& name) { return {name, {}}; }
  void Add(const std::string& source, Id first, Id last, int64_t now = 0) {
    for (Id id = first; id <= last; ++id) silent_.Add(id, From(source), now);
  }
  std::optional<Id> TakeFor(const std::string& source,
                            Supply supply = Supply::kPlenty, int64_t now = 0) {
    return silent_.TakeForNewcomer(From(source), supply, now);
  }

  std::set<std::string> trusted_;
  std::map<Id, State> states_;
  SilentConnections silent_;
};

TEST_F(SilentConnectionsTest, ASourceAtItsLimitLosesItsOldestConnection) {
  Add("a", 1, 3);
  Add("b", 11, 11);
  EXPECT_EQ(TakeFor("a"), std::nullopt);
  Add("a", 4, 4);
  EXPECT_EQ(TakeFor("a"), 1u);
  Add("a", 5, 5);
  EXPECT_EQ(TakeFor("a"), 2u);
  EXPECT_EQ(TakeFor("b"), std::nullopt);
  EXPECT_EQ(silent_.num_of(From("a")), 3u);
}

TEST_F(SilentConnectionsTest, ARemovedConnectionIsNotCounted) {
  Add("a", 1, 4);
  silent_.Remove(2);
  silent_.Remove(2);
  silent_.Remove(99);
  EXPECT_EQ(TakeFor("a"), std::nullopt);
  Add("a", 5, 5);
  EXPECT_EQ(TakeFor("a"), 1u);
  EXPECT_EQ(TakeFor("a"), std::nullopt);
}

TEST_F(SilentConnectionsTest, AtTheTotalLimitTheLargestSourceLosesAConnection) {
  Add("a", 1, 2);
  Add("b", 11, 14);
  Add("c", 21, 22);
  EXPECT_EQ(TakeFor("d"), 11u);
  Add("d", 31, 31);
  EXPECT_EQ(TakeFor("d"), 12u);
  EXPECT_EQ(silent_.size(), 7u);
}

TEST_F(SilentConnectionsTest,
       IfDescriptorsAreScarceTheLargestSourceLosesAConnection) {
  EXPECT_EQ(TakeFor("a", Supply::kExhausted), std::nullopt);
  Add("a", 1, 1);
  Add("b", 11, 12);
  EXPECT_EQ(TakeFor("c", Supply::kScarce, kTimeout / 5 - 1), std::nullopt);
  EXPECT_EQ(TakeFor("c", Supply::kScarce, kTimeout / 5), 11u);
  EXPECT_EQ(TakeFor("c", Supply::kExhausted), 1u);
  EXPECT_EQ(TakeFor("c", Supply::kExhausted), 12u);
  EXPECT_EQ(TakeFor("c", Supply::kExhausted), std::nullopt);
}

TEST_F(SilentConnectionsTest, AConnectionWithUnreadDataIsNotClosedForANewOne) {
  Add("a", 1, 4);
  states_[1] = states_[2] = State::kUnread;
  EXPECT_EQ(TakeFor("a"), 3u);
  Add("a", 5, 5);
  states_[4] = states_[5] = State::kUnread;
  EXPECT_EQ(TakeFor("a"), std::nullopt);
  EXPECT_EQ(silent_.TakeOverdue(4 * kTimeout), std::nullopt);
  EXPECT_EQ(silent_.size(), 4u);
  // Unread data excuses a connection only for a limited time.
  EXPECT_EQ(silent_.TakeOverdue(4 * kTimeout + 1), 1u);
}

TEST_F(SilentConnectionsTest, AConnectionThatHasBegunItsGreetingIsClosedLast) {
  Add("a", 1, 4);
  states_[1] = states_[2] = State::kBegun;
  EXPECT_EQ(TakeFor("a"), 3u);
  Add("a", 5, 5);
  states_[4] = states_[5] = State::kBegun;
  EXPECT_EQ(TakeFor("a"), 1u);
  // Connections that have begun have the same time limit as others.
  EXPECT_EQ(silent_.TakeOverdue(kTimeout), 2u);
}

TEST_F(SilentConnectionsTest, ConnectionsOfClosedPeersAreRemovedFirst) {
  Add("a", 1, 4);
  states_[1] = State::kGone;
  EXPECT_EQ(TakeFor("a"), std::nullopt);
  EXPECT_EQ(silent_.size(), 3u);
  states_[3] = State::kGone;
  silent_.Sweep();
  EXPECT_EQ(silent_.size(), 2u);
  states_[2] = states_[4] = State::kGone;
  EXPECT_EQ(silent_.TakeOverdue(kTimeout), std::nullopt);
  EXPECT_EQ(silent_.size(), 0u);
}

TEST_F(SilentConnectionsTest, ASilentConnectionIsOverdueAfterTheTimeLimit) {
  Add("a", 1, 1, 0);
  Add("b", 11, 11, 10);
  EXPECT_EQ(silent_.TakeOverdue(kTimeout - 1), std::nullopt);
  EXPECT_EQ(silent_.TakeOverdue(kTimeout), 1u);
  EXPECT_EQ(silent_.TakeOverdue(kTimeout), std::nullopt);
  EXPECT_EQ(silent_.TakeOverdue(kTimeout + 10), 11u);
}

TEST_F(SilentConnectionsTest, AFewConnectionsOfATrustedSourceHaveNoTimeLimit) {
  trusted_ = {"a"};
  Add("a", 1, 2, 0);
  EXPECT_EQ(silent_.TakeOverdue(1000 * kTimeout), std::nullopt);
  Add("a", 3, 3, 1000 * kTimeout);
  EXPECT_EQ(silent_.TakeOverdue(1000 * kTimeout), 1u);
  EXPECT_EQ(silent_.TakeOverdue(1000 * kTimeout), std::nullopt);
  trusted_ = {};
  EXPECT_EQ(silent_.TakeOverdue(1000 * kTimeout), 2u);
}

TEST_F(SilentConnectionsTest, ATrustedSourceHasAHigherLimit) {
  trusted_ = {"a"};
  Add("a", 1, 4);
  EXPECT_EQ(TakeFor("a"), std::nullopt);
  Add("a", 5, 5);
  EXPECT_EQ(TakeFor("a"), 1u);
}

TEST_F(SilentConnectionsTest, TheNumberOfConnectionsWithUnreadDataIsLimited) {
  for (Id id = 1; id <= 16; ++id) {
    const std::string source = "s" + std::to_string(id);
    states_[id] = State::kUnread;
    EXPECT_FALSE(silent_.full());
    EXPECT_EQ(TakeFor(source), std::nullopt);
    Add(source, id, id);
  }
  EXPECT_TRUE(silent_.full());
}

}  // namespace
}  // namespace canopy::net
