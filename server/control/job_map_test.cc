#include "server/control/job_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

namespace canopy::control {
namespace {

TEST(JobMapTest, ContainsTheSlotsAndProcessesOfEachNode) {
  JobSpec job;
  job.nodes.resize(2);
  job.nodes[0].name = "a";
  job.nodes[0].slots = 3;
  job.nodes[1].name = "b";
  job.nodes[1].slots = 5;
  job.procs.resize(3);
  job.procs[0].node = 1;
  job.procs[1].node = 0;
  job.procs[1].cpuset = "0-1";
  job.procs[2].node = 1;
  job.procs[2].app = 4;
  v1::JobStatus status;
  FillJobMap(job, status.mutable_nodes());
  ASSERT_EQ(status.nodes_size(), 2);
  EXPECT_EQ(status.nodes(0).name(), "a");
  EXPECT_EQ(status.nodes(0).slots(), 3u);
  ASSERT_EQ(status.nodes(0).procs_size(), 1);
  EXPECT_EQ(status.nodes(0).procs(0).rank(), 1u);
  EXPECT_EQ(status.nodes(0).procs(0).cpuset(), "0-1");
  EXPECT_EQ(status.nodes(1).slots(), 5u);
  ASSERT_EQ(status.nodes(1).procs_size(), 2);
  EXPECT_EQ(status.nodes(1).procs(1).rank(), 2u);
  EXPECT_EQ(status.nodes(1).procs(1).app(), 4u);
}

std::shared_ptr<Topology> MachineWith(const std::string& cpus,
                                      uint64_t memory_mib) {
  auto machine = std::make_shared<Topology>(FlatTopology(*CpuSet::Parse(cpus)));
  machine->memory_bytes = memory_mib << 20;
  return machine;
}

TEST(JobMapTest, EachDistinctTopologyIsReportedOnce) {
  JobSpec job;
  job.nodes.resize(4);
  for (NodeId i = 0; i < 4; ++i) job.nodes[i].agent = i;
  v1::JobMapped mapped;
  FillJobMap(job, mapped.mutable_nodes());
  AddTopologies(
      job,
      [](NodeId agent) -> std::shared_ptr<const Topology> {
        if (agent == 2) return nullptr;
        return MachineWith(agent == 1 ? "0-3" : "0-1", 2046 + agent);
      },
      &mapped);
  ASSERT_EQ(mapped.topologies_size(), 2);
  EXPECT_EQ(DecodeTopology(mapped.topologies(1))->cpus.ToString(), "0-3");
  EXPECT_EQ(DecodeTopology(mapped.topologies(1))->memory_bytes, 2u << 30);
  const uint32_t expected[] = {1, 2, 0, 1};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(mapped.nodes(i).topology(), expected[i]) << i;
  }
}

TEST(JobMapTest, TheBytesOfTopologiesAreLimited) {
  constexpr NodeId kNodes = 500;
  JobSpec job;
  job.nodes.resize(kNodes);
  for (NodeId i = 0; i < kNodes; ++i) job.nodes[i].agent = i;
  v1::JobMapped mapped;
  FillJobMap(job, mapped.mutable_nodes());
  AddTopologies(
      job,
      [](NodeId agent) {
        const std::string first = std::to_string(agent);
        return MachineWith(first + "-" + std::to_string(agent + 499), 0);
      },
      &mapped);
  size_t bytes = 0;
  for (const std::string& topology : mapped.topologies()) {
    bytes += topology.size();
  }
  EXPECT_LE(bytes, kMaxTopologyBytes);
  EXPECT_GT(mapped.topologies_size(), 10);
  EXPECT_EQ(mapped.nodes(0).topology(), 1u);
  EXPECT_EQ(mapped.nodes(kNodes - 1).topology(), 0u);
}

}  // namespace
}  // namespace canopy::control
