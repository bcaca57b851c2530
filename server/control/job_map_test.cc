#include "server/control/job_map.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace canopy::control
