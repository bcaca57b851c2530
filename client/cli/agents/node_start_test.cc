#include "client/cli/agents/node_start.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/status.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

// A root with a fixed answer, and this number of nodes in it.
class FixedRoot : public OverlayRoot {
 public:
  Result<v1c::AddNodesReply> AddNodes(const v1c::AddNodesRequest& request,
                                      bool is_remote) override {
    remote = is_remote;
    asked = request;
    if (!failure.ok()) return failure;
    v1c::AddNodesReply reply;
    reply.set_config(config.SerializeAsString());
    for (int i = 0; i < num_nodes; ++i) {
      v1c::AddedNode* const node = reply.add_nodes();
      node->set_node(static_cast<uint32_t>(i + 5));
      node->set_is_new(!up);
      node->set_up(up);
    }
    return reply;
  }

  Status failure;
  bootstrap::v1::Config config;
  int num_nodes = 1;
  bool up = false;
  bool remote = false;
  v1c::AddNodesRequest asked;
};

class NodeStartTest : public testing::Test {
 protected:
  NodeStartTest() {
    context_.set_name("here");
    options_.hosts = {{"other.host", 2, true, {"alias"}}};
  }
  Result<StartedNodes> Run() {
    AgentGroup group;
    NodeStart start(context_, &root_, options_);
    Result<StartedNodes> started = start.Run(&group);
    new_members_ = start.new_members();
    return started;
  }

  v1::Context context_;
  FixedRoot root_;
  NodeStartOptions options_;
  std::vector<std::string> new_members_;
};

TEST_F(NodeStartTest, TheRootGetsTheNamesAndTheSlots) {
  root_.up = true;
  const Result<StartedNodes> started = Run();
  ASSERT_TRUE(started.ok()) << started.status().message();
  bootstrap::v1::NodeInfo node;
  ASSERT_TRUE(node.ParseFromString(root_.asked.nodes(0)));
  EXPECT_EQ(node.name(), "other.host");
  EXPECT_EQ(node.slots(), 2u);
  EXPECT_EQ(node.aliases(0), "alias");
  EXPECT_TRUE(root_.remote);
  EXPECT_EQ(started->was_up, std::vector<std::string>({"other.host"}));
  EXPECT_TRUE(started->added.empty());
  EXPECT_TRUE(new_members_.empty());
}

TEST_F(NodeStartTest, NodesOfAnEmulatedOverlayAreOnThisMachine) {
  context_.set_emulated(true);
  root_.up = true;
  ASSERT_TRUE(Run().ok());
  EXPECT_FALSE(root_.remote);
}

TEST_F(NodeStartTest, TheNodesOfAClusterFileDoNotChange) {
  context_.set_cluster_file("/etc/canopy/cluster.toml");
  EXPECT_EQ(Run().code(), kErrNotSupported);
  EXPECT_EQ(root_.asked.nodes_size(), 0);
}

TEST_F(NodeStartTest, AHostThatCannotReachTheAgentsIsRefused) {
  root_.config.set_listen("127.0.0.1:4711");
  const Result<StartedNodes> started = Run();
  EXPECT_EQ(started.code(), kErrBadParam);
  EXPECT_NE(started.status().message().find("listen on loopback only"),
            std::string::npos);
  EXPECT_EQ(new_members_, std::vector<std::string>({"other.host"}))
      << "the caller takes it back";
}

TEST_F(NodeStartTest, EmbeddedAgentsNeedTheLauncherThatKeepsThem) {
  root_.config.set_embedded(true);
  EXPECT_EQ(Run().code(), kErrNotSupported);
  options_.keeps_agents = true;
  root_.up = true;
  EXPECT_TRUE(Run().ok());
}

TEST_F(NodeStartTest, ErrorsOfTheRootAreReturned) {
  root_.failure = Status(kErrUnreach, "no majority");
  EXPECT_EQ(Run().code(), kErrUnreach);
  root_.failure = Status();
  root_.num_nodes = 2;
  EXPECT_EQ(Run().code(), kErrUnpackFailure);
}

TEST_F(NodeStartTest, ALaunchAgentThatDoesNotStartIsReported) {
  options_.launch_agent = "/no/such/program {host}";
  EXPECT_EQ(Run().code(), kErrUnreach);
  EXPECT_EQ(new_members_.size(), 1u);
}

}  // namespace
}  // namespace canopy::cli
