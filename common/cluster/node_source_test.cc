#include "common/cluster/node_source.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace canopy {
namespace {

class NodeSourceTest : public testing::Test {
 protected:
  NodeSourceTest() {
    file_.path = "cluster.toml";
    file_.port = 7000;
    file_.control_port = 7001;
  }
  Result<std::vector<ClusterNode>> Nodes() {
    return MakeNodeSource(file_,
                          [this](const char* name) -> char* {
                            const auto it = variables_.find(name);
                            return it == variables_.end() ? nullptr
                                                          : it->second.data();
                          })
        ->Nodes();
  }

  ClusterFile file_;
  std::map<std::string, std::string> variables_;
};

TEST_F(NodeSourceTest, TheFileItselfHasAList) {
  file_.nodes = {{"a", "a.host", 1, 2}};
  const auto nodes = Nodes();
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 1u);
  EXPECT_EQ((*nodes)[0].host, "a.host");
}

TEST_F(NodeSourceTest, ABatchJobHasTheNodesOfItsEnvironment) {
  file_.nodes_from = NodesFrom::kBatchJob;
  variables_ = {{"SLURM_JOB_ID", "17"},
                {"SLURM_JOB_NODELIST", "n[08-09],login"}};
  const auto nodes = Nodes();
  ASSERT_TRUE(nodes.ok()) << nodes.status().message();
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_EQ((*nodes)[1].name, "n09");
  EXPECT_EQ((*nodes)[1].host, "n09");
  EXPECT_EQ((*nodes)[1].port, 7000u);
  EXPECT_EQ((*nodes)[1].control_port, 7001u);
  EXPECT_EQ((*nodes)[2].name, "login");
}

TEST_F(NodeSourceTest, OutsideABatchJobThereAreNoNodes) {
  file_.nodes_from = NodesFrom::kBatchJob;
  EXPECT_EQ(Nodes().code(), kErrNotFound);
  variables_ = {{"PBS_JOBID", "17"}, {"PBS_NODEFILE", "/nonexistent"}};
  EXPECT_EQ(Nodes().code(), kErrNotFound);
  variables_ = {{"SLURM_JOB_ID", "17"}, {"SLURM_JOB_NODELIST", "a,a"}};
  EXPECT_EQ(Nodes().code(), kErrBadParam);
}

TEST_F(NodeSourceTest, ADnsNameHasItsAddresses) {
  file_.nodes_from = NodesFrom::kDns;
  file_.dns_name = "192.0.2.7";
  const auto nodes = Nodes();
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 1u);
  EXPECT_EQ((*nodes)[0].host, "192.0.2.7");
  EXPECT_EQ((*nodes)[0].port, 7000u);
}

}  // namespace
}  // namespace canopy
