#include "hostmodule/gpu_assigner.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "hostmodule/mapper_testing.h"
#include "hostmodule/node_pool.h"

namespace canopy::host {
namespace {

// Returns a node of two packages, each with two cores and two GPUs.
MapNode Node() {
  Topology topology = *Machine("pack:2 core:2 pu:1");
  for (uint32_t i = 0; i < 4; ++i) {
    topology.gpus.push_back({GpuKind::kNvidia, std::to_string(i),
                             *CpuSet::Parse(i < 2 ? "0-1" : "2-3")});
  }
  MapNode node = Nodes(1, 4, "")[0];
  node.topology = std::make_shared<const Topology>(std::move(topology));
  return node;
}

Placed On(uint32_t node, const std::string& cpus) {
  Placed p;
  p.node = node;
  p.cpus = *CpuSet::Parse(cpus);
  return p;
}

// Returns the GPUs of processes that are bound to these CPUs, or the error.
std::string Assigned(const std::vector<MapNode>& pool, uint32_t per_proc,
                     const std::vector<Placed>& procs) {
  GpuAssigner assigner(pool, per_proc);
  std::string out;
  for (Placed p : procs) {
    if (Status s = assigner.Assign(&p); !s.ok()) return s.message();
    out += (out.empty() ? "" : " ") + p.gpus;
  }
  return out;
}

TEST(GpuAssigner, EachProcessGetsTheNextGpus) {
  EXPECT_EQ(Assigned({Node()}, 1, {On(0, ""), On(0, ""), On(0, "")}),
            "nvidia:0 nvidia:1 nvidia:2");
  EXPECT_EQ(Assigned({Node()}, 2, {On(0, ""), On(0, "")}),
            "nvidia:0,1 nvidia:2,3");
}

TEST(GpuAssigner, NearGpusAreAssignedFirst) {
  EXPECT_EQ(Assigned({Node()}, 1, {On(0, "3"), On(0, "0"), On(0, "2-3")}),
            "nvidia:2 nvidia:0 nvidia:3");
  EXPECT_EQ(Assigned({Node()}, 3, {On(0, "3")}), "nvidia:2,3,0");
}

TEST(GpuAssigner, GpusOfOtherJobsAreNotAssigned) {
  MapNode node = Node();
  node.gpus_in_use = {"nvidia:0", "nvidia:2", "nvidia:9"};
  EXPECT_EQ(Assigned({node}, 1, {On(0, ""), On(0, "")}), "nvidia:1 nvidia:3");
  EXPECT_EQ(FreeGpus(node).size(), 2u);
  EXPECT_NE(Assigned({node}, 3, {On(0, "")})
                .find("needs 3 GPUs, and 2 of its 4 GPUs are free"),
            std::string::npos);
}

TEST(GpuAssigner, AProcessGetsGpusOfOnlyOneKind) {
  MapNode node = Node();
  Topology topology = *node.topology;
  topology.gpus.resize(1);
  topology.gpus.push_back({GpuKind::kAmd, "0", {}});
  topology.gpus.push_back({GpuKind::kAmd, "1", {}});
  node.topology = std::make_shared<const Topology>(topology);
  EXPECT_EQ(Assigned({node}, 2, {On(0, "")}), "amd:0,1");
}

TEST(GpuAssigner, NodesOfOneMachineShareItsGpus) {
  std::vector<MapNode> pool = {Node(), Node()};
  pool[1].agent = 11;
  EXPECT_EQ(Assigned(pool, 1, {On(0, ""), On(1, "")}), "nvidia:0 nvidia:0");
  for (MapNode& node : pool) node.machine = "box";
  EXPECT_EQ(Assigned(pool, 1, {On(0, ""), On(1, "")}), "nvidia:0 nvidia:1");
}

TEST(GpuAssigner, ANodeWithoutGpusFails) {
  MapNode node = Nodes(1, 2, "")[0];
  EXPECT_NE(Assigned({node}, 1, {On(0, "")}).find("not enough GPUs on node n0"),
            std::string::npos);
}

}  // namespace
}  // namespace canopy::host
