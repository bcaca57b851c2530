#include "hostmodule/session_jobs.h"

#include <gtest/gtest.h>

namespace canopy::host {
namespace {

MapNode Node(NodeId agent, uint32_t slots) {
  MapNode node;
  node.agent = agent;
  node.slots = slots;
  return node;
}

JobSpec Job(const std::string& nspace, const std::vector<uint32_t>& nodes) {
  JobSpec job;
  job.nspace = nspace;
  job.nodes = {{"n5", {}, 5}, {"n2", {}, 2}};
  for (const uint32_t node : nodes) job.procs.push_back({node, 0, ""});
  return job;
}

TEST(SessionJobs, TheUniverseSizeCountsTheSlotsOfAllNodes) {
  JobSpec job = Job("new", {0});
  job.max_procs = 3;
  DescribeSession({Node(2, 4), Node(5, 3), Node(6, 1)}, {}, &job);
  EXPECT_EQ(job.universe_size, 8u);
  EXPECT_TRUE(job.others.empty());
  job.max_procs = 20;
  DescribeSession({Node(2, 4)}, {}, &job);
  EXPECT_EQ(job.universe_size, 20u);
}

TEST(SessionJobs, OtherJobsAreListedWithTheirNodes) {
  JobSpec first = Job("first", {0, 0, 1, 0});
  JobSpec second = Job("second", {1});
  second.nproc_offset = 4;
  JobSpec job = Job("new", {0});
  DescribeSession({}, {&first, &second}, &job);
  ASSERT_EQ(job.others.size(), 2u);
  EXPECT_EQ(job.others[0].nspace, "first");
  ASSERT_EQ(job.others[0].runs.size(), 3u);
  EXPECT_EQ(job.others[0].runs[0].agent, 5u);
  EXPECT_EQ(job.others[0].runs[0].count, 2u);
  EXPECT_EQ(job.others[0].runs[1].agent, 2u);
  EXPECT_EQ(job.others[1].nproc_offset, 4u);
}

TEST(SessionJobs, AJobWithTooManyRunsOfRanksIsOmitted) {
  std::vector<uint32_t> round;
  for (size_t i = 0; i <= kMaxSessionRuns; ++i) round.push_back(i % 2);
  const JobSpec large = Job("large", round);
  JobSpec job = Job("new", {0});
  DescribeSession({}, {&large}, &job);
  EXPECT_TRUE(job.others.empty());
}

}  // namespace
}  // namespace canopy::host
