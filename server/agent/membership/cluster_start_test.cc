#include "server/agent/membership/cluster_start.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "server/agent/persistence/agent_state.h"
#include "server/overlay/frame.h"

namespace canopy::agent {
namespace {

class ClusterStartTest : public testing::Test {
 protected:
  ClusterStartTest() {
    home_ = testing::TempDir() + "/cluster_start";
    std::filesystem::remove_all(home_);
    std::filesystem::create_directory(home_);
    file_.key_file = home_ + "/key";
    file_.directory = home_ + "/run";
    file_.path = home_ + "/cluster.toml";
    std::ofstream(file_.key_file) << std::string(64, '7');
    chmod(file_.key_file.c_str(), 0600);
    SetNodes({"a", "b", "c"});
  }
  ~ClusterStartTest() override { std::filesystem::remove_all(home_); }

  void SetNodes(const std::vector<std::string>& names) {
    file_.nodes.clear();
    for (const std::string& name : names) {
      file_.nodes.push_back({name, name + ".example", 7117, 7118});
    }
  }
  // Stores the state of a killed agent of node b.
  void StoreState(const ClusterStart& start) {
    bootstrap::v1::AgentState state;
    *state.mutable_config() = start.config;
    state.mutable_config()->set_predecessor(55);
    state.mutable_config()->set_pmix_port(99);
    *state.mutable_members() = start.members;
    state.mutable_members()->mutable_nodes(0)->set_slots(8);
    state.mutable_members()->clear_known();
    std::filesystem::create_directory(start.config.runtime_dir());
    chmod(start.config.runtime_dir().c_str(), 0700);
    ASSERT_TRUE(SaveState(start.config.runtime_dir(), state).ok());
  }

  std::string home_;
  ClusterFile file_;
};

TEST_F(ClusterStartTest, TheConfigurationComesFromTheFile) {
  const Result<ClusterStart> start = StartInCluster(file_, 1);
  ASSERT_TRUE(start.ok()) << start.status().message();
  EXPECT_FALSE(start->restarts);
  EXPECT_EQ(start->config.self(), 1u);
  EXPECT_EQ(start->config.node_name(), "b");
  EXPECT_EQ(start->config.listen(), "b.example:7117");
  EXPECT_EQ(start->config.control_listen(), "b.example:7118");
  EXPECT_EQ(start->config.cluster_key().size(), 32u);
  EXPECT_FALSE(start->config.emulated());
  EXPECT_EQ(start->members.nodes(2).address(), "c.example:7117");
  const auto known = overlay::DecodeMembers(start->members.known());
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->changes.size(), 2u);
}

TEST_F(ClusterStartTest, TheOverlayIdDependsOnTheKeyAndTheName) {
  const std::string id = StartInCluster(file_, 0)->config.overlay_id();
  EXPECT_EQ(id.size(), 16u);
  EXPECT_EQ(id, StartInCluster(file_, 2)->config.overlay_id());
  file_.name = "other";
  const std::string renamed = StartInCluster(file_, 0)->config.overlay_id();
  EXPECT_NE(id, renamed);
  std::ofstream(file_.key_file) << std::string(64, '8');
  EXPECT_NE(renamed, StartInCluster(file_, 0)->config.overlay_id());
}

TEST_F(ClusterStartTest, AnAgentContinuesAfterAKilledOne) {
  Result<ClusterStart> start = StartInCluster(file_, 1);
  ASSERT_TRUE(start.ok());
  StoreState(*start);
  SetNodes({"a", "b", "c", "d"});
  file_.nodes[0].host = "a.new";
  start = StartInCluster(file_, 1);
  ASSERT_TRUE(start.ok()) << start.status().message();
  EXPECT_TRUE(start->restarts);
  EXPECT_EQ(start->config.predecessor(), 55u);
  EXPECT_EQ(start->config.pmix_port(), 99u);
  EXPECT_EQ(start->config.member_names_size(), 3);
  ASSERT_EQ(start->members.nodes_size(), 3);
  EXPECT_EQ(start->members.nodes(0).slots(), 8u);
  EXPECT_EQ(start->members.nodes(0).address(), "a.new:7117");
  EXPECT_TRUE(start->members.known().empty());
}

TEST_F(ClusterStartTest, TheStateOfAnotherOverlayIsRefused) {
  const Result<ClusterStart> start = StartInCluster(file_, 1);
  ASSERT_TRUE(start.ok());
  StoreState(*start);
  file_.name = "other";
  const Result<ClusterStart> next = StartInCluster(file_, 1);
  EXPECT_EQ(next.code(), kErrBadParam);
  file_.name = "cluster";
  SetNodes({"b", "a", "c"});
  EXPECT_EQ(StartInCluster(file_, 0).code(), kErrBadParam);
}

TEST_F(ClusterStartTest, AKeyThatOthersCanReadIsRefused) {
  chmod(file_.key_file.c_str(), 0644);
  EXPECT_EQ(StartInCluster(file_, 1).code(), kErrNoPermissions);
}

TEST_F(ClusterStartTest, NewNodesFollowTheKnownOnes) {
  const bootstrap::v1::Members known = StartInCluster(file_, 0)->members;
  EXPECT_TRUE(NewClusterNodes(file_, known)->empty());
  SetNodes({"a", "b"});
  EXPECT_TRUE(NewClusterNodes(file_, known)->empty());
  SetNodes({"a", "b", "c", "d", "e"});
  const auto nodes = NewClusterNodes(file_, known);
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[1].name, "e");
  SetNodes({"a", "c", "b", "d"});
  const auto wrong = NewClusterNodes(file_, known);
  EXPECT_EQ(wrong.code(), kErrBadParam);
  EXPECT_NE(wrong.status().message().find("node 1 is b, not c"),
            std::string::npos);
}

TEST_F(ClusterStartTest, AnAgentStartsAtThePlaceThatItWasGiven) {
  ClusterPlace place;
  place.nodes = {{"x", "x.example", 7117, 7118}, {"y", "10.0.0.2", 7117, 7118}};
  place.self = 1;
  place.members.emplace();
  place.members->set_known("as the root knows them");
  file_.nodes_from = NodesFrom::kDns;
  const Result<ClusterStart> start = StartAtPlace(file_, place);
  ASSERT_TRUE(start.ok()) << start.status().message();
  EXPECT_EQ(start->config.self(), 1u);
  EXPECT_EQ(start->config.node_name(), "y");
  EXPECT_EQ(start->config.listen(), "10.0.0.2:7117");
  EXPECT_EQ(start->members.known(), "as the root knows them");
  EXPECT_TRUE(start->from_dns);
}

TEST_F(ClusterStartTest, AnAgentOfADnsClusterContinuesWithItsStoredMembers) {
  EXPECT_FALSE(StartFromState(file_, "b")->has_value());
  const Result<ClusterStart> first = StartInCluster(file_, 1);
  ASSERT_TRUE(first.ok());
  StoreState(*first);
  file_.nodes.clear();
  file_.port = 7117;
  const auto next = StartFromState(file_, "b");
  ASSERT_TRUE(next.ok()) << next.status().message();
  ASSERT_TRUE(next->has_value());
  EXPECT_TRUE((*next)->restarts);
  EXPECT_EQ((*next)->config.self(), 1u);
  EXPECT_EQ((*next)->members.nodes(2).address(), "c.example:7117");
}

}  // namespace
}  // namespace canopy::agent
