#include "common/job.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

JobSpec TestJob(uint32_t nodes, uint32_t procs, bool by_node) {
  JobSpec job;
  job.nspace = "job-1";
  job.uid = 1000;
  job.apps.push_back({"a.out", {"a.out", "-x"}, {"A=1"}, "/wd", procs});
  for (uint32_t i = 0; i < nodes; ++i) {
    job.nodes.push_back({"n" + std::to_string(i), {"alias"}, i, 4, 10 + i, 3});
  }
  for (uint32_t r = 0; r < procs; ++r) {
    const uint32_t node =
        by_node ? r % nodes : r / ((procs + nodes - 1) / nodes);
    job.procs.push_back({node, 0, r % 2 ? "1" : "0"});
  }
  job.env = {"HOME=/root"};
  job.map_by = "slot";
  job.allocation = {"n0", "spare"};
  job.timeout_seconds = 5;
  job.inject = Inject::kNever;
  job.parent = {"parent", 3};
  return job;
}

void ExpectSame(const JobSpec& a, const JobSpec& b) {
  EXPECT_EQ(EncodeJobSpec(a), EncodeJobSpec(b));
  ASSERT_EQ(a.procs.size(), b.procs.size());
  for (size_t i = 0; i < a.procs.size(); ++i) {
    EXPECT_EQ(a.procs[i].node, b.procs[i].node) << i;
    EXPECT_EQ(a.procs[i].app, b.procs[i].app) << i;
    EXPECT_EQ(a.procs[i].cpuset, b.procs[i].cpuset) << i;
  }
}

TEST(JobSpec, DebuggingPropertiesSurviveEncoding) {
  JobSpec job = TestJob(2, 4, false);
  const std::string without = EncodeJobSpec(job);
  EXPECT_FALSE(DecodeJobSpec(without)->debug.any());
  job.debug.on_exec = std::vector<Rank>{1, 3};
  job.debug.in_init.emplace();
  job.debug.target = {"job-0", kRankWildcard};
  Result<JobSpec> back = DecodeJobSpec(EncodeJobSpec(job));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->debug.on_exec, job.debug.on_exec);
  EXPECT_EQ(back->debug.in_init, job.debug.in_init);
  EXPECT_EQ(back->debug.in_app, std::nullopt);
  EXPECT_EQ(back->debug.target, job.debug.target);
  EXPECT_TRUE(Stops(job.debug.on_exec, 3));
  EXPECT_FALSE(Stops(job.debug.on_exec, 2));
  EXPECT_TRUE(Stops(job.debug.in_init, 2));
  EXPECT_FALSE(Stops(job.debug.in_app, 2));
}

TEST(JobSpec, UnorderedListsOfStoppedRanksAreRejected) {
  JobSpec job = TestJob(2, 4, false);
  job.debug.in_app = std::vector<Rank>{3, 1};
  EXPECT_EQ(DecodeJobSpec(EncodeJobSpec(job)).code(), kErrUnpackFailure);
}

TEST(JobSpec, SurvivesEncoding) {
  for (bool by_node : {false, true}) {
    for (uint32_t procs : {1u, 7u, 64u}) {
      const JobSpec job = TestJob(4, procs, by_node);
      const Result<JobSpec> back = DecodeJobSpec(EncodeJobSpec(job));
      ASSERT_TRUE(back.ok());
      ExpectSame(job, *back);
      EXPECT_EQ(back->apps[0].argv, job.apps[0].argv);
      EXPECT_EQ(back->nodes[3].first_node_rank, 13u);
      EXPECT_EQ(back->nodes[3].other_procs, 3u);
      EXPECT_EQ(back->parent, job.parent);
      EXPECT_EQ(back->inject, Inject::kNever);
      EXPECT_EQ(back->allocation, job.allocation);
    }
  }
}

TEST(JobSpec, OffsetAndRendezvousSurviveEncoding) {
  JobSpec job = TestJob(2, 4, false);
  EXPECT_EQ(DecodeJobSpec(EncodeJobSpec(job))->nproc_offset, 0u);
  job.nproc_offset = 70000;
  job.rendezvous_host = "10.0.0.1";
  const Result<JobSpec> back = DecodeJobSpec(EncodeJobSpec(job));
  EXPECT_EQ(back->nproc_offset, 70000u);
  EXPECT_EQ(back->rendezvous_host, "10.0.0.1");
}

TEST(JobSpec, AFieldOfALaterReleaseIsSkipped) {
  JobSpec job = TestJob(2, 4, false);
  job.places.cpu_list = "0-7";
  // The unknown field 90, with one byte.
  const std::string later = EncodeJobSpec(job) + "\xd2\x05\x01x";
  ExpectSame(DecodeJobSpec(later).value(), job);
}

TEST(JobSpec, AnUnknownFormOfALaterReleaseIsRejected) {
  // Field 100 again, which is the form, with a higher number.
  const std::string later =
      EncodeJobSpec(TestJob(2, 4, false)) + "\xa0\x06\x02";
  const Result<JobSpec> job = DecodeJobSpec(later);
  EXPECT_EQ(job.code(), kErrUnpackFailure);
  EXPECT_NE(job.status().message().find("unknown form"), std::string::npos);
}

TEST(JobSpec, TheSchedulersNameSurvivesEncoding) {
  JobSpec job = TestJob(2, 4, false);
  const std::string without = EncodeJobSpec(job);
  job.host_job = "17";
  const Result<JobSpec> back = DecodeJobSpec(EncodeJobSpec(job));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->host_job, "17");
  EXPECT_EQ(DecodeJobSpec(without)->host_job, "");
}

TEST(JobSpec, ForwardingSurvivesEncoding) {
  JobSpec job;
  job.nspace = "job";
  const std::string without = EncodeJobSpec(job);
  job.forwarding = {6, 4096, true, true};
  const Result<JobSpec> back = DecodeJobSpec(EncodeJobSpec(job));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->forwarding, job.forwarding);
  EXPECT_EQ(DecodeJobSpec(without)->forwarding, JobForwarding());
}

TEST(JobSpec, NamedCpusSurviveEncoding) {
  JobSpec job = TestJob(2, 4, false);
  const std::string without = EncodeJobSpec(job);
  job.cpus_per_proc = 2;
  job.places.cpu_list = "0-7";
  const Result<JobSpec> back = DecodeJobSpec(EncodeJobSpec(job));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->cpus_per_proc, 2u);
  EXPECT_EQ(back->places.cpu_list, "0-7");
  EXPECT_EQ(DecodeJobSpec(without)->cpus_per_proc, 0u);
}

TEST(JobSpec, MergedStreamsOfApplicationsSurviveEncoding) {
  JobSpec job = TestJob(2, 4, false);
  job.apps[0].merge_stderr = true;
  const Result<JobSpec> back = DecodeJobSpec(EncodeJobSpec(job));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->apps[0].merge_stderr);
}

TEST(JobSpec, ProcessSetsOfApplicationsSurviveEncoding) {
  JobSpec job = TestJob(2, 4, false);
  job.apps[0].pset = "ocean";
  const Result<JobSpec> back = DecodeJobSpec(EncodeJobSpec(job));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->apps[0].pset, "ocean");
}

TEST(JobSpec, TheSessionSurvivesEncoding) {
  JobSpec job = TestJob(2, 4, false);
  job.app_nodes = {{{"n1"}, 3}};
  job.others = {{"before", 7, {{1, 2}, {0, 5}}}};
  const std::string all = EncodeJobSpec(job);
  const Result<JobSpec> back = DecodeJobSpec(all);
  ASSERT_TRUE(back.ok());
  ASSERT_EQ(back->app_nodes.size(), 1u);
  EXPECT_EQ(back->app_nodes[0].names, std::vector<std::string>{"n1"});
  EXPECT_EQ(back->app_nodes[0].slots, 3u);
  ASSERT_EQ(back->others.size(), 1u);
  EXPECT_EQ(back->others[0].nproc_offset, 7u);
  ASSERT_EQ(back->others[0].runs.size(), 2u);
  EXPECT_EQ(back->others[0].runs[1].count, 5u);
  for (size_t n = 0; n < all.size(); ++n) {
    EXPECT_FALSE(DecodeJobSpec(std::string_view(all).substr(0, n)).ok()) << n;
  }
  job.others[0].runs.push_back({0, UINT32_MAX});
  EXPECT_FALSE(DecodeJobSpec(EncodeJobSpec(job)).ok());
}

TEST(JobSpec, FailurePoliciesSurviveEncoding) {
  JobSpec job = TestJob(2, 4, false);
  job.max_restarts = 3;
  job.recoverable = true;
  const Result<JobSpec> back = DecodeJobSpec(EncodeJobSpec(job));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->max_restarts, 3u);
  EXPECT_TRUE(back->recoverable);
  EXPECT_FALSE(back->process.index_argv);
  job.process.index_argv = true;
  EXPECT_TRUE(DecodeJobSpec(EncodeJobSpec(job))->process.index_argv);
}

TEST(JobSpec, TheReasonForMissingBindingSurvivesEncoding) {
  JobSpec job = TestJob(2, 4, false);
  job.unbound_reason = "the nodes share a machine";
  const Result<JobSpec> back = DecodeJobSpec(EncodeJobSpec(job));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->unbound_reason, job.unbound_reason);
  job.gpus.assign(job.procs.size(), "nvidia:0,1");
  EXPECT_EQ(DecodeJobSpec(EncodeJobSpec(job))->gpus, job.gpus);
  job.gpus.push_back("nvidia:2");
  EXPECT_FALSE(DecodeJobSpec(EncodeJobSpec(job)).ok());
}

TEST(JobSpec, MakeJobCombinesTheRequestWithItsMap) {
  JobRequest request;
  request.name = "ocean";
  request.apps.resize(2);
  request.apps[0].argv = {"./a", "-x"};
  request.apps[1].argv = {"b"};
  request.apps[1].num_procs = 7;
  JobMap map;
  map.nodes = {{"n0", {}, 0, 4}};
  map.procs = {{0, 0, ""}, {0, 1, ""}, {0, 1, ""}};
  const JobSpec job = MakeJob(request, map);
  EXPECT_EQ(job.name, "ocean");
  EXPECT_EQ(job.apps[0].cmd, "./a");
  EXPECT_EQ(job.apps[0].num_procs, 1u);
  EXPECT_EQ(job.apps[1].num_procs, 2u);
  EXPECT_EQ(job.procs.size(), 3u);
}

TEST(JobSpec, AMapBySlotIsEncodedCompactly) {
  JobSpec job = TestJob(100, 20000, false);
  for (ProcPlacement& p : job.procs) p.cpuset.clear();
  EXPECT_LT(EncodeJobSpec(job).size(), 4000u);
}

TEST(JobSpec, TruncatedExtendedAndInvalidMapsAreRejected) {
  const std::string all = EncodeJobSpec(TestJob(2, 8, true));
  for (size_t n = 0; n < all.size(); ++n) {
    EXPECT_FALSE(DecodeJobSpec(std::string_view(all).substr(0, n)).ok()) << n;
  }
  EXPECT_FALSE(DecodeJobSpec(all + "x").ok());
  JobSpec newer = TestJob(2, 8, true);
  newer.process.index_argv = true;
  const std::string bytes = EncodeJobSpec(newer);
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(DecodeJobSpec(std::string_view(bytes).substr(0, n)).ok()) << n;
  }
  JobSpec bad = TestJob(2, 2, false);
  bad.procs[1].node = 9;
  EXPECT_FALSE(DecodeJobSpec(EncodeJobSpec(bad)).ok());
}

TEST(JobLayout, TheLayoutDerivesRanksAndNumbersFromTheMap) {
  const JobSpec job = TestJob(2, 5, true);
  const JobLayout layout(job);
  EXPECT_EQ(layout.ranks_on(0), (std::vector<Rank>{0, 2, 4}));
  EXPECT_EQ(layout.numbers(4).local_rank, 2);
  EXPECT_EQ(layout.numbers(3).local_rank, 1);
  EXPECT_EQ(layout.numbers(3).app_rank, 3u);
  EXPECT_EQ(layout.node_of_agent(1), 1u);
  EXPECT_EQ(layout.node_of_agent(7), kNoNode);
  EXPECT_EQ(layout.app_leader(0), 0u);
}

TEST(JobLayout, AgentsMayBeInAnotherOrderThanTheirNodes) {
  JobSpec job = TestJob(3, 3, true);
  const NodeId agents[] = {9, 2, 5};
  for (uint32_t node = 0; node < 3; ++node)
    job.nodes[node].agent = agents[node];
  const JobLayout layout(job);
  for (uint32_t node = 0; node < 3; ++node) {
    EXPECT_EQ(layout.node_of_agent(agents[node]), node);
    EXPECT_EQ(layout.ranks_of_agent(agents[node]), layout.ranks_on(node));
  }
  EXPECT_EQ(layout.node_of_agent(3), kNoNode);
}

}  // namespace
}  // namespace canopy
