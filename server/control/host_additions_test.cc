#include "server/control/host_additions.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/control/control_testing.h"

namespace canopy::control {
namespace {

// The spawner is a process of the job "first". New members get the numbers from
// 7, and are up as soon as the test wants it.
class HostAdditionsTest : public testing::Test {
 protected:
  HostAdditionsTest() {
    Family* const family = families_.AddFamily("first");
    families_.AddJob(family, Job("first"), {});
    families_.launchers()[kLauncher] = Launcher(&stream_, OwnUser());
    families_.launchers()[kLauncher].adds_hosts = true;
    families_.Attach(kLauncher, family);
    planner_.hosts.add = [this](const v1::AddNodesRequest& request,
                                bool remote) -> Result<v1::AddNodesReply> {
      remote_ = remote;
      v1::AddNodesReply reply;
      for (const std::string& name : request.nodes()) {
        const auto [entry, is_new] = members_.emplace(name, next_);
        if (is_new) ++next_;
        v1::AddedNode* const node = reply.add_nodes();
        node->set_node(entry->second);
        node->set_is_new(is_new);
      }
      return reply;
    };
    planner_.hosts.remove = [this](const std::vector<NodeId>& nodes) {
      removed_ = nodes;
    };
    planner_.hosts.is_up = [this](NodeId) { return up_; };
  }

  // Requests hosts of these names. The status is in results_.
  void Add(const std::vector<std::string>& names, int64_t give_up = 0) {
    std::vector<Host> hosts;
    for (const std::string& name : names) hosts.push_back({name, 0, false, {}});
    additions_.Add(
        {"first",
         [this, hosts]() -> Result<std::vector<Host>> {
           if (!failure_.ok()) return failure_;
           return hosts;
         },
         give_up,
         [this](const Status& status) { results_.push_back(status); }});
  }
  // Returns the number of the newest order.
  uint64_t LastOrder() const {
    const auto orders = stream_.Of(v1::RunEvent::kAddHosts);
    return orders.empty() ? 0 : orders.back().add_hosts().order();
  }
  v1::OrderedNodesReply Ask(uint64_t order,
                            const std::vector<std::string>& names) {
    v1::OrderedNodes nodes;
    nodes.set_order(order);
    nodes.set_remote(true);
    for (const std::string& name : names) {
      nodes.mutable_request()->add_nodes(name);
    }
    additions_.OnNodes(kLauncher, nodes);
    return stream_.Of(v1::RunEvent::kNodes).back().nodes();
  }
  void Report(uint64_t order, const Status& status = {}) {
    v1::HostsAdded added;
    added.set_order(order);
    added.set_status(status.code());
    added.set_error(status.message());
    additions_.OnAdded(kLauncher, added);
  }
  void RunUntilAnswer() {
    for (int i = 0; i < 1000 && results_.empty(); ++i) loop_.RunOnce(10);
  }

  EventLoop loop_;
  Stream stream_;
  Families families_;
  JobPlanner planner_;
  std::map<std::string, NodeId> members_;
  NodeId next_ = 7;
  bool up_ = true;
  bool remote_ = false;
  Status failure_;
  std::vector<NodeId> removed_;
  std::vector<Status> results_;
  HostAdditions additions_{&loop_, &families_, &planner_};
};

TEST_F(HostAdditionsTest, TheLauncherAddsTheHosts) {
  Add({"a", "b"});
  const v1::AddHosts order =
      stream_.Of(v1::RunEvent::kAddHosts).at(0).add_hosts();
  ASSERT_EQ(order.hosts_size(), 2);
  EXPECT_EQ(order.hosts(1).name(), "b");
  EXPECT_EQ(order.timeout_ms(), 60000u);
  const v1::OrderedNodesReply reply = Ask(order.order(), {"a", "b"});
  EXPECT_EQ(reply.status(), 0);
  EXPECT_EQ(reply.reply().nodes(1).node(), 8u);
  EXPECT_TRUE(remote_);
  EXPECT_TRUE(results_.empty());
  Report(order.order());
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_TRUE(results_[0].ok());
  EXPECT_TRUE(removed_.empty());
}

TEST_F(HostAdditionsTest, TheOrderEndsWhenTheAgentsAreUp) {
  Add({"a"});
  Ask(LastOrder(), {"a"});
  up_ = false;
  Report(LastOrder());
  for (int i = 0; i < 3; ++i) loop_.RunOnce(20);
  EXPECT_TRUE(results_.empty());
  up_ = true;
  RunUntilAnswer();
  EXPECT_TRUE(results_.at(0).ok());
}

TEST_F(HostAdditionsTest, AFailureTakesTheNewMembersBack) {
  members_["b"] = 3;
  Add({"a", "b"});
  Ask(LastOrder(), {"a", "b"});
  Report(LastOrder(), Status(kErrUnreach, "ssh: no route"));
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(results_[0].code(), kErrJobAllocFailed);
  EXPECT_EQ(results_[0].message(), "its hosts cannot be added: ssh: no route");
  EXPECT_EQ(removed_, std::vector<NodeId>({7})) << "b was a member before";
}

TEST_F(HostAdditionsTest, AnOrderHasATimeLimit) {
  Add({"a"}, EventLoop::Now() + 20'000'000);
  Ask(LastOrder(), {"a"});
  RunUntilAnswer();
  EXPECT_EQ(results_.at(0).code(), kErrJobAllocFailed);
  EXPECT_EQ(removed_, std::vector<NodeId>({7}));
  Report(LastOrder());
  EXPECT_EQ(results_.size(), 1u) << "the late answer has no effect";
  EXPECT_EQ(Ask(LastOrder(), {"a"}).status(), kErrNotFound);
}

TEST_F(HostAdditionsTest, ALauncherThatAddsNoHostsIsNotAsked) {
  families_.launchers()[kLauncher].adds_hosts = false;
  Add({"a"});
  EXPECT_EQ(results_.at(0).code(), kErrNotSupported);
  EXPECT_EQ(LastOrder(), 0u);
}

TEST_F(HostAdditionsTest, OnlyMissingHostsNeedAnOrder) {
  Add({});
  EXPECT_TRUE(results_.at(0).ok());
  failure_ = Status(kErrJobFailedToMap, "no file");
  Add({"a"});
  EXPECT_EQ(results_.at(1).code(), kErrJobFailedToMap);
  EXPECT_EQ(LastOrder(), 0u);
}

TEST_F(HostAdditionsTest, OrdersFollowEachOther) {
  Add({"a"});
  const uint64_t first = LastOrder();
  Add({"b"});
  EXPECT_EQ(LastOrder(), first);
  Report(first);
  EXPECT_EQ(results_.size(), 1u);
  EXPECT_NE(LastOrder(), first);
  Report(LastOrder());
  EXPECT_EQ(results_.size(), 2u);
}

TEST_F(HostAdditionsTest, HostsAndRequestsAreLimited) {
  Add(std::vector<std::string>(1025, "a"));
  EXPECT_EQ(results_.at(0).code(), kErrOutOfResource);
  for (int i = 0; i < 65; ++i) Add({"a"});
  EXPECT_EQ(results_.size(), 1u);
  Add({"a"});
  EXPECT_EQ(results_.at(1).code(), kErrOutOfResource);
  EXPECT_EQ(Ask(LastOrder(), {"a", "b"}).status(), kErrBadParam)
      << "the launcher cannot add more than the order has";
}

TEST_F(HostAdditionsTest, AnOrderEndsWithItsLauncher) {
  Add({"a"});
  Ask(LastOrder(), {"a"});
  additions_.OnLauncherGone(kLauncher + 1);
  EXPECT_TRUE(results_.empty());
  additions_.OnLauncherGone(kLauncher);
  EXPECT_EQ(results_.at(0).code(), kErrJobAllocFailed);
  EXPECT_EQ(removed_, std::vector<NodeId>({7}));
}

TEST_F(HostAdditionsTest, OtherLaunchersHaveNoPartInAnOrder) {
  Add({"a"});
  v1::HostsAdded added;
  added.set_order(LastOrder());
  additions_.OnAdded(kLauncher + 1, added);
  EXPECT_TRUE(results_.empty());
}

}  // namespace
}  // namespace canopy::control
