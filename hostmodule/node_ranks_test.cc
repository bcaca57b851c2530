#include "hostmodule/node_ranks.h"

#include <gtest/gtest.h>

namespace canopy::host {
namespace {

// Returns a job with these numbers of processes on the agents 0, 1, ...
JobSpec Job(const std::vector<uint32_t>& procs_on) {
  JobSpec job;
  job.apps.emplace_back();
  for (uint32_t i = 0; i < procs_on.size(); ++i) {
    job.nodes.push_back({"n" + std::to_string(i), {}, i, 8});
    for (uint32_t p = 0; p < procs_on[i]; ++p) job.procs.push_back({i, 0, ""});
  }
  return job;
}

TEST(NodeRanks, NodeRanksOfTheFirstJobBeginAtZero) {
  JobSpec job = Job({2, 3});
  NumberOnNodes({}, &job);
  for (const JobNode& node : job.nodes) {
    EXPECT_EQ(node.first_node_rank, 0u);
    EXPECT_EQ(node.other_procs, 0u);
  }
}

TEST(NodeRanks, AJobGetsNodeRanksThatNoOtherJobUses) {
  JobSpec first = Job({2, 3});
  NumberOnNodes({}, &first);
  JobSpec second = Job({4, 1, 1});
  NumberOnNodes({&first}, &second);
  EXPECT_EQ(second.nodes[0].first_node_rank, 2u);
  EXPECT_EQ(second.nodes[1].first_node_rank, 3u);
  EXPECT_EQ(second.nodes[2].first_node_rank, 0u);
  EXPECT_EQ(second.nodes[1].other_procs, 3u);
  EXPECT_EQ(JobLayout(second).numbers(3).local_rank, 3);
  EXPECT_EQ(JobLayout(second).numbers(3).node_rank, 5);
  // The first job is over; its numbers are free, but too few for a larger job.
  JobSpec small = Job({2});
  NumberOnNodes({&second}, &small);
  EXPECT_EQ(small.nodes[0].first_node_rank, 0u);
  JobSpec large = Job({3});
  NumberOnNodes({&second}, &large);
  EXPECT_EQ(large.nodes[0].first_node_rank, 6u);
  JobSpec last = Job({1});
  NumberOnNodes({&second, &small}, &last);
  EXPECT_EQ(last.nodes[0].first_node_rank, 6u);
  EXPECT_EQ(last.nodes[0].other_procs, 6u);
}

}  // namespace
}  // namespace canopy::host
