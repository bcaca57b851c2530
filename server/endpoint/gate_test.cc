#include "server/endpoint/gate.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace canopy::endpoint {
namespace {

constexpr int64_t kMillisecond = 1000 * 1000;
constexpr uint32_t kOwner = 70001;
constexpr uint32_t kNeighbour = 70002;
constexpr uint32_t kStranger = 70003;

class GateTest : public ::testing::Test {
 protected:
  GateTest() { Make({.per_source = 3, .per_trusted = 3, .total = 5}); }

  void Make(const net::SilenceLimits& limits, bool serves_all = false) {
    gate_.emplace(
        &loop_,
        Gate::Parts{limits,
                    [this](uint32_t uid) { return jobs_.contains(uid); },
                    [this](core::ClientId id) { return unread_.contains(id); },
                    [this](core::ClientId id, const char* reason) {
                      closed_.emplace_back(id, reason);
                    },
                    [this](const core::LogLine& line) { log_.push_back(line); },
                    serves_all});
  }
  bool Admits(uint32_t uid) { return gate_->Admits(0, net::SourceOfUser(uid)); }
  // Adds the silent connections `first` to `last` of that user.
  void Connect(uint32_t uid, core::ClientId first, core::ClientId last) {
    for (core::ClientId id = first; id <= last; ++id) {
      ASSERT_TRUE(Admits(uid));
      gate_->Add(id, net::SourceOfUser(uid));
    }
  }
  std::vector<core::ClientId> Closed() const {
    std::vector<core::ClientId> ids;
    for (const auto& [id, reason] : closed_) ids.push_back(id);
    return ids;
  }
  void Until(const std::function<bool()>& done) {
    const int64_t deadline = EventLoop::Now() + 10000 * kMillisecond;
    while (!done() && EventLoop::Now() < deadline) loop_.RunOnce(10);
    EXPECT_TRUE(done());
  }

  using Ids = std::vector<core::ClientId>;
  EventLoop loop_;
  std::set<uint32_t> jobs_ = {kOwner, kNeighbour};
  std::set<core::ClientId> unread_;
  std::vector<std::pair<core::ClientId, std::string>> closed_;
  std::vector<core::LogLine> log_;
  std::optional<Gate> gate_;
};

TEST_F(GateTest, AUserWithoutAJobIsAcceptedIfAllUsersAreServed) {
  EXPECT_FALSE(Admits(kStranger));
  Make({.per_source = 2, .per_trusted = 3, .total = 5}, /*serves_all=*/true);
  ASSERT_NO_FATAL_FAILURE(Connect(kStranger, 1, 3));
  EXPECT_EQ(Closed(), (Ids{1}));
}

TEST_F(GateTest, AUserWithoutAJobIsRefused) {
  EXPECT_TRUE(Admits(kOwner));
  EXPECT_TRUE(Admits(geteuid()));
  EXPECT_TRUE(log_.empty());
  for (int i = 0; i < 5000; ++i) EXPECT_FALSE(Admits(kStranger));
  EXPECT_EQ(log_.size(), static_cast<size_t>(net::LineLimit::kBurst));
  EXPECT_EQ(log_[0].uid, kStranger);
  EXPECT_EQ(log_[0].text,
            "refusing a connection of uid 70003, which has no job here");
  jobs_.insert(kStranger);
  EXPECT_TRUE(Admits(kStranger));
}

TEST_F(GateTest, AUserLosesItsOwnOldestConnection) {
  Connect(kOwner, 1, 1);
  Connect(kNeighbour, 11, 15);
  EXPECT_EQ(Closed(), (Ids{11, 12}));
  Connect(kOwner, 2, 2);
  // There are five silent connections now. The source with the most of them,
  // kNeighbour, loses its oldest one at the next connection.
  Connect(kOwner, 3, 3);
  EXPECT_EQ(Closed(), (Ids{11, 12, 13}));
}

TEST_F(GateTest, AConnectionWithUnreadBytesIsNotClosed) {
  Connect(kOwner, 1, 3);
  unread_ = {1};
  Connect(kOwner, 4, 4);
  EXPECT_EQ(Closed(), (Ids{2}));
}

TEST_F(GateTest, TheOnlySilentConnectionOfAJobsUserHasNoTimeLimit) {
  Make({.timeout_ns = 4 * kMillisecond, .patience = 1});
  Connect(kOwner, 1, 1);
  Connect(geteuid(), 2, 2);
  Connect(kNeighbour, 11, 13);
  gate_->Remove(13);
  // Connection 2 belongs to the agent's own user, who has no job. The neighbour
  // had two silent connections, of which only one has no time limit.
  Until([this] { return closed_.size() == 2; });
  const uint64_t round = loop_.round();
  Until([&] { return loop_.round() > round + 20; });
  const auto closed = Closed();
  EXPECT_EQ(std::set(closed.begin(), closed.end()),
            (std::set<core::ClientId>{2, 11}));
  EXPECT_EQ(closed_[0].second, "did not identify itself in time");
  // The end of the job ends its connections.
  jobs_.clear();
  Until([this] { return closed_.size() == 4; });
}

TEST_F(GateTest, RelayedToolsHaveATimeLimit) {
  Make({.timeout_ns = 4 * kMillisecond});
  jobs_.insert(geteuid());
  ASSERT_TRUE(gate_->Admits(0, Gate::Relayed()));
  gate_->Add(1, Gate::Relayed());
  Until([this] { return Closed() == Ids{1}; });
}

TEST_F(GateTest, ASilentConnectionIsClosedIfDescriptorsAreScarce) {
  Connect(kOwner, 1, 1);
  Connect(kNeighbour, 11, 12);
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit tight = {100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  EXPECT_TRUE(gate_->Admits(98, net::SourceOfUser(kOwner)));
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(Closed(), (Ids{11}));
}

}  // namespace
}  // namespace canopy::endpoint
