#include "hostmodule/mapper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hostmodule/mapper_testing.h"

namespace canopy::host {
namespace {

struct MapCase {
  uint32_t procs;
  const char* map_by;
  const char* rank_by;
  const char* expected;
};

TEST(Mapper, EachPolicyPlacesAndRanksProcesses) {
  // 3 nodes of 4 slots.
  const MapCase cases[] = {
      {0, "", "", "n0:0,1,2,3 n1:4,5,6,7 n2:8,9,10,11"},
      {1, "", "", "n0:0"},
      {6, "slot", "", "n0:0,1,2,3 n1:4,5"},
      {6, "node", "", "n0:0,3 n1:1,4 n2:2,5"},
      {6, "node", "slot", "n0:0,1 n1:2,3 n2:4,5"},
      {6, "node", "fill", "n0:0,1 n1:2,3 n2:4,5"},
      {6, "slot", "node", "n0:0,2,4,5 n1:1,3"},
      {12, "node", "", "n0:0,3,6,9 n1:1,4,7,10 n2:2,5,8,11"},
      {6, "core", "", "n0:0,1,2,3 n1:4,5"},
      {6, "package", "", "n0:0,1,2,3 n1:4,5"},
      {5, "package:span", "", "n0:0,1 n1:2,3 n2:4"},
      {8, "package:span", "", "n0:0,1,6,7 n1:2,3 n2:4,5"},
      {8, "package:span", "slot", "n0:0,1,2,3 n1:4,5 n2:6,7"},
      {0, "ppr:1:node", "", "n0:0 n1:1 n2:2"},
      {0, "ppr:2:node", "", "n0:0,1 n1:2,3 n2:4,5"},
      {3, "ppr:2:node", "", "n0:0,1 n1:2"},
      {0, "ppr:1:package", "", "n0:0,1 n1:2,3 n2:4,5"},
      {0, "ppr:2:socket", "", "n0:0,1,2,3 n1:4,5,6,7 n2:8,9,10,11"},
      {0, "seq", "", "n0:0 n1:1 n2:2"},
  };
  const std::vector<MapNode> nodes = Nodes(3, 4, kTwoPackages);
  for (const MapCase& c : cases) {
    JobRequest request = Request(c.procs);
    request.places.map_by = c.map_by;
    request.places.rank_by = c.rank_by;
    EXPECT_EQ(Map(nodes, request), c.expected)
        << c.procs << " " << c.map_by << " " << c.rank_by;
  }
}

TEST(Mapper, TheMapContainsTheCpusPerProcess) {
  JobRequest request = Request(2);
  EXPECT_EQ(MapWhole(Nodes(2, 4, kTwoPackages), request)->cpus_per_proc, 0u);
  for (const uint32_t cpus : {1u, 2u}) {
    request.places.map_by = "slot:pe=" + std::to_string(cpus);
    EXPECT_EQ(MapWhole(Nodes(2, 4, kTwoPackages), request)->cpus_per_proc,
              cpus);
  }
}

TEST(Mapper, OnlyTheGivenCpusOfEachNodeAreUsed) {
  const std::vector<MapNode> nodes = Nodes(2, 4, kTwoPackages);
  JobRequest request = Request(8);
  request.places.cpu_list = "0-3";
  Result<JobSpec> job = MapWhole(nodes, request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  for (const ProcPlacement& proc : job->procs) EXPECT_EQ(proc.cpuset, "0-3");
  EXPECT_EQ(job->places.cpu_list, "0-3");
  request = Request(2);
  request.places.cpu_list = "2-5";
  request.places.bind_to = "core";
  job = MapWhole(nodes, request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->procs[0].cpuset, "2-3");
  EXPECT_EQ(job->procs[1].cpuset, "4-5");
  request.places.cpu_list = "0-100";
  EXPECT_EQ(MapWhole(nodes, request).status().message(),
            "node n0 has only CPUs 0-15, not all of 0-100");
  request.places.cpu_list = "100";
  EXPECT_EQ(MapWhole(nodes, request).code(), kErrJobInsufficientResources);
  request.places.cpu_list = "x";
  EXPECT_EQ(MapWhole(nodes, request).code(), kErrBadParam);
  request.places.cpu_list = "0";
  EXPECT_EQ(MapWhole(Nodes(2, 4, ""), request).code(), kErrNotSupported);
}

TEST(Mapper, ProcessesExceedTheSlotsOnlyWithOversubscribe) {
  const MapCase cases[] = {
      {8, "slot:oversubscribe", "", "n0:0,1,2,3 n1:4,5,6,7"},
      {5, "slot:oversubscribe", "", "n0:0,1,2 n1:3,4"},
      {7, "node:oversubscribe", "", "n0:0,2,4,6 n1:1,3,5"},
      {6, "core:oversubscribe", "", "n0:0,1,2 n1:3,4,5"},
      {0, "slot:oversubscribe", "", "n0:0,1 n1:2,3"},
      {0, "ppr:3:node:oversubscribe", "", "n0:0,1,2 n1:3,4,5"},
  };
  const std::vector<MapNode> nodes = Nodes(2, 2, "core:2 pu:1");
  for (const MapCase& c : cases) {
    JobRequest request = Request(c.procs);
    request.places.map_by = c.map_by;
    Result<JobSpec> job = MapWhole(nodes, request);
    ASSERT_TRUE(job.ok()) << job.status().message();
    EXPECT_EQ(MapText(*job), c.expected) << c.map_by;
    EXPECT_EQ(job->oversubscribed, job->procs.size() > 4) << c.map_by;
    if (job->oversubscribed) {
      EXPECT_EQ(job->bind_to, "none");
    }
  }
  JobRequest option = Request(5);
  option.places.oversubscribe = true;
  EXPECT_EQ(Map(nodes, option), "n0:0,1,2 n1:3,4");
  option.places.map_by = "slot:nooversubscribe";
  EXPECT_NE(Map(nodes, option).find("not enough slots"), std::string::npos);
}

struct BindCase {
  uint32_t procs;
  const char* map_by;
  const char* bind_to;
  const char* expected;
};

TEST(Mapper, EachPolicyBindsProcesses) {
  // One node, 2 packages of 4 cores of 2 threads: CPUs 0-7 and 8-15.
  const BindCase cases[] = {
      {2, "", "", "0-1 2-3"},
      {3, "", "", "0-7 8-15 0-7"},
      {4, "", "none", "- - - -"},
      {4, "", "core", "0-1 2-3 4-5 6-7"},
      {4, "package", "core", "0-1 8-9 2-3 10-11"},
      {4, "package", "", "0-7 8-15 0-7 8-15"},
      {3, "", "hwthread", "0 1 2"},
      {3, "core", "hwthread", "0 2 4"},
      {3, "hwthread", "hwthread", "0 1 2"},
      {3, "core", "package", "0-7 0-7 0-7"},
      {2, "hwthread", "core:overload-allowed", "0-1 0-1"},
      {2, "slot:pe=2", "", "0-3 4-7"},
      {3, "package:pe=2", "", "0-3 8-11 4-7"},
      {2, "core:pe=3", "", "0-5 6-11"},
      {3, "slot:pe=2:hwtcpus", "", "0-1 2-3 4-5"},
      {3, "slot:pe=3", "hwthread", "0-2 3-5 6-8"},
      {0, "ppr:2:package", "core", "0-1 2-3 8-9 10-11"},
      {0, "ppr:1:package:pe=4", "", "0-7 8-15"},
  };
  const std::vector<MapNode> nodes = Nodes(1, 8, kTwoPackages);
  for (const BindCase& c : cases) {
    JobRequest request = Request(c.procs);
    request.places.map_by = c.map_by;
    request.places.bind_to = c.bind_to;
    Result<JobSpec> job = MapWhole(nodes, request);
    ASSERT_TRUE(job.ok()) << c.map_by << " " << c.bind_to << ": "
                          << job.status().message();
    EXPECT_EQ(BindText(*job), c.expected) << c.map_by << " " << c.bind_to;
    EXPECT_EQ(job->bind_to == "none", job->procs[0].cpuset.empty());
  }
}

TEST(Mapper, RanksFollowTheObjectsOfThePolicy) {
  const std::vector<MapNode> nodes = Nodes(2, 4, "pack:2 core:2 pu:1");
  JobRequest request = Request(8);
  // Processes are mapped to cores in order, and ranked round-robin by package.
  request.places.map_by = "core";
  request.places.rank_by = "package";
  request.places.bind_to = "core";
  Result<JobSpec> job = MapWhole(nodes, request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(MapText(*job), "n0:0,1,2,3 n1:4,5,6,7");
  EXPECT_EQ(BindText(*job), "0 2 1 3 0 2 1 3");
  request.places.rank_by = "span";
  request.places.map_by = "package";
  job = MapWhole(nodes, request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(MapText(*job), "n0:0,1,4,5 n1:2,3,6,7");
  request.places.map_by = "slot";
  request.places.rank_by = "core";
  request.places.bind_to = "none";
  EXPECT_EQ(Map(nodes, request),
            "--rank-by core needs processes that are mapped by or bound to a "
            "core; add --map-by core");
}

TEST(Mapper, NothingIsBoundByDefaultOnASharedOrFullNode) {
  const auto bound = [](const std::vector<MapNode>& nodes, uint32_t procs) {
    JobRequest request = Request(procs);
    request.places.oversubscribe = true;
    Result<JobSpec> job = MapWhole(nodes, request);
    EXPECT_TRUE(job.ok());
    return job.ok() ? job->bind_to : "";
  };
  std::vector<MapNode> nodes = Nodes(2, 4, "core:4 pu:1");
  EXPECT_EQ(bound(nodes, 2), "core");
  EXPECT_EQ(bound(nodes, 8), "numa");
  EXPECT_EQ(bound(Nodes(2, 4, kTwoPackages), 8), "package");
  EXPECT_EQ(bound(nodes, 9), "none");
  nodes[0].unbound_procs = 1;
  EXPECT_EQ(bound(nodes, 2), "none");
  nodes[0].unbound_procs = 0;
  nodes[0].topology = nullptr;
  EXPECT_EQ(bound(nodes, 2), "none");
  nodes = Nodes(2, 4, "core:4 pu:1");
  for (MapNode& node : nodes) node.machine = "box";
  EXPECT_EQ(bound(nodes, 2), "none");
}

TEST(Mapper, ASecondJobIsBoundToCoresThatAreFree) {
  std::vector<MapNode> nodes = Nodes(1, 4, "core:4 pu:1");
  nodes[0].bound = {{*CpuSet::Parse("0"), 1}, {*CpuSet::Parse("2"), 1}};
  nodes[0].slots_in_use = 2;
  const auto bound = [&](uint32_t procs, const char* map_by,
                         const char* bind_to) {
    JobRequest request = Request(procs);
    request.places.map_by = map_by;
    request.places.bind_to = bind_to;
    Result<JobMap> job = MapJob(nodes, request);
    return job.ok() ? BindText(*job) : job.status().message();
  };
  EXPECT_EQ(bound(2, "", ""), "1 3");
  EXPECT_EQ(bound(2, "", "core"), "1 3");
  EXPECT_EQ(bound(2, "core", "core"), "1 3");
  EXPECT_EQ(bound(1, "slot:pe=2", ""), "1,3");
  EXPECT_EQ(bound(3, ":oversubscribe", "core:overload-allowed"), "1 3 0");
  EXPECT_NE(bound(3, ":oversubscribe", "core").find("other jobs are bound"),
            std::string::npos);
  // A package holds as many processes as it has cores.
  EXPECT_EQ(bound(2, "", "numa"), "0-3 0-3");
  EXPECT_NE(bound(3, ":oversubscribe", "numa").find("start fewer"),
            std::string::npos);
}

TEST(Mapper, PackagesThatOtherJobsUseAreMappedToLast) {
  std::vector<MapNode> nodes = Nodes(1, 8, kTwoPackages);
  nodes[0].bound = {{*CpuSet::Parse("0-7"), 1}};
  JobRequest request = Request(1);
  request.places.map_by = "package";
  request.places.bind_to = "package";
  EXPECT_EQ(BindText(*MapJob(nodes, request)), "8-15");
}

TEST(Mapper, TheMapHasTheReasonWhyNothingIsBound) {
  const auto reason = [](const std::vector<MapNode>& on, uint32_t procs,
                         const char* bind_to = "") {
    JobRequest request = Request(procs);
    request.places.bind_to = bind_to;
    request.places.map_by = ":oversubscribe";
    const Result<JobSpec> job = MapWhole(on, request);
    return job.ok() ? job->unbound_reason : job.status().message();
  };
  std::vector<MapNode> nodes = Nodes(2, 4, "core:2 pu:1");
  EXPECT_EQ(reason(nodes, 2), "");
  EXPECT_EQ(reason(nodes, 2, "core"), "");
  EXPECT_EQ(reason(nodes, 2, "none"), "as requested");
  EXPECT_EQ(reason(nodes, 8), "more processes than CPUs");
  EXPECT_EQ(reason(nodes, 9), "more processes than slots");
  nodes[0].unbound_procs = 1;
  EXPECT_EQ(reason(nodes, 2), "n0 runs other jobs that are not bound");
  nodes[0].topology = nullptr;
  EXPECT_EQ(reason(nodes, 2), "the CPUs of n0 are unknown");
  nodes = Nodes(2, 4, "core:4 pu:1");
  for (MapNode& node : nodes) node.machine = "box";
  EXPECT_EQ(reason(nodes, 2), "the nodes share a machine");
}

TEST(Mapper, AToolRunsBesideAFullJobAndIsNotBound) {
  std::vector<MapNode> nodes = Nodes(2, 2, "core:4 pu:1");
  for (MapNode& node : nodes) node.slots_in_use = 2;
  JobRequest request = Request(3);
  EXPECT_EQ(MapWhole(nodes, request).code(), kErrJobInsufficientResources);
  request.places.tool = true;
  EXPECT_EQ(Map(nodes, request), "n0:0,1 n1:2");
  EXPECT_EQ(MapWhole(nodes, request)->bind_to, "none");
  request.apps[0].num_procs = 5;
  EXPECT_EQ(Map(nodes, request), "n0:0,1,2 n1:3,4");
  request.places.map_by = ":nooversubscribe";
  EXPECT_EQ(MapWhole(nodes, request).code(), kErrJobInsufficientResources);
  request = Request(2);
  request.places.tool = true;
  request.places.map_by = "ppr:1:node";
  EXPECT_EQ(Map(nodes, request), "n0:0 n1:1");
  request.places.bind_to = "core";
  EXPECT_EQ(BindText(*MapWhole(nodes, request)), "0 0");
}

TEST(Mapper, EmulatedNodesShareTheirCpus) {
  std::vector<MapNode> nodes = Nodes(4, 2, "core:2 pu:1");
  for (MapNode& node : nodes) node.machine = "box";
  JobRequest request = Request(8);
  Result<JobSpec> job = MapWhole(nodes, request);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(MapText(*job), "n0:0,1 n1:2,3 n2:4,5 n3:6,7");
  EXPECT_EQ(BindText(*job), "- - - - - - - -");
  EXPECT_TRUE(job->oversubscribed);
  request = Request(2);
  request.places.map_by = "node";
  request.places.bind_to = "core";
  job = MapWhole(nodes, request);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(BindText(*job), "0 1");
  EXPECT_FALSE(job->oversubscribed);
  request.apps[0].num_procs = 3;
  EXPECT_EQ(MapWhole(nodes, request).code(), kErrJobInsufficientResources);
}

TEST(Mapper, EachNotationOfHostsSelectsNodes) {
  std::vector<MapNode> nodes = Nodes(4, 4, kTwoPackages);
  nodes[3].slots_in_use = 2;
  const std::tuple<uint32_t, std::vector<Host>, const char*> cases[] = {
      {0, {{"n2", 0, false}}, "n2:0,1,2,3"},
      {3, {{"n2", 2, true}, {"n0", 0, false}}, "n2:0,1 n0:2"},
      {0, {{"n1.example.org", 1, true}}, "n1:0"},
      {0, {{"n1", 0, false}, {"n1", 0, false}}, "n1:0,1"},
      {0, {{"n1", 2, true}, {"n1", 1, true}}, "n1:0,1,2"},
      {6, {{"n1", 6, true}}, "n1:0,1,2,3,4,5"},
      {0, {{"n3", 0, false}}, "n3:0,1"},
      {0, {{"+n1", 1, true}, {"+n0", 1, true}}, "n1:0 n0:1"},
      {3, {{"+e", 0, false}}, "n0:0,1,2"},
      {0, {{"+e", 2, true}}, "n0:0,1,2,3 n1:4,5,6,7"},
      {0, {{"localhost", 1, true}}, "n2:0"},
      {3, {{"+any", 1, true}}, "n0:0,1,2"},
      {0, {{"+any", 2, true}}, "n0:0,1,2,3 n1:4,5,6,7"},
  };
  for (const auto& [procs, hosts, expected] : cases) {
    JobRequest request = Request(procs);
    request.places.hosts = hosts;
    EXPECT_EQ(Map(nodes, request, 12), expected) << hosts[0].name;
    request.places.hosts.clear();
    request.apps[0].hosts = hosts;
    EXPECT_EQ(Map(nodes, request, 12), expected)
        << hosts[0].name << " of an app";
  }
}

TEST(Mapper, NodesWithFreeSlotsArePreferredForANumberOfNodes) {
  std::vector<MapNode> nodes = Nodes(3, 2, kTwoPackages);
  nodes[0].slots_in_use = 2;
  JobRequest request = Request(4);
  request.places.hosts = {{"+any", 2, true}};
  EXPECT_EQ(Map(nodes, request), "n1:0,1 n2:2,3");
  request.places.hosts = {{"+any", 3, true}};
  EXPECT_EQ(Map(nodes, request), "n1:0,1 n2:2,3");
}

TEST(Mapper, ProcessesWithinTheUsersSlotsAreNotOversubscription) {
  JobRequest request = Request(6);
  request.apps[0].hosts = {{"n0", 6, true}};
  Result<JobSpec> job = MapWhole(Nodes(1, 4, "core:8 pu:1"), request);
  ASSERT_TRUE(job.ok());
  EXPECT_FALSE(job->oversubscribed);
  EXPECT_EQ(job->universe_size, 6u);
}

TEST(Mapper, MemoryIsBookedAndNeverOversubscribed) {
  std::vector<MapNode> nodes = Nodes(2, 8, kTwoPackages);
  auto topology = std::make_shared<Topology>(*nodes[0].topology);
  topology->memory_bytes = uint64_t{8} << 30;
  for (MapNode& node : nodes) node.topology = topology;
  nodes[0].memory_in_use = uint64_t{5} << 30;
  JobRequest request = Request(4);
  request.places.memory_per_proc = uint64_t{2} << 30;
  const auto procs_on = [&](const std::string& name) {
    const Result<JobMap> map = MapJob(nodes, request, kNoNode);
    EXPECT_TRUE(map.ok()) << map.status().message();
    return std::ranges::count_if(map->procs, [&](const ProcPlacement& p) {
      return map->nodes[p.node].name == name;
    });
  };
  EXPECT_EQ(procs_on("n0"), 1);
  EXPECT_EQ(procs_on("n1"), 3);
  request.apps[0].num_procs = 6;
  const Result<JobMap> too_many = MapJob(nodes, request, kNoNode);
  EXPECT_EQ(too_many.code(), kErrJobInsufficientResources);
  EXPECT_NE(too_many.status().message().find("2 GiB of memory"),
            std::string::npos);
  request.places.oversubscribe = true;
  EXPECT_EQ(MapJob(nodes, request, kNoNode).code(),
            kErrJobInsufficientResources);
}

TEST(Mapper, EmulatedNodesShareTheMemoryOfTheirMachine) {
  std::vector<MapNode> nodes = Nodes(2, 8, kTwoPackages);
  auto topology = std::make_shared<Topology>(*nodes[0].topology);
  topology->memory_bytes = uint64_t{8} << 30;
  for (MapNode& node : nodes) {
    node.topology = topology;
    node.machine = "one";
  }
  JobRequest request = Request(4);
  request.places.map_by = "node";
  request.places.memory_per_proc = uint64_t{2} << 30;
  EXPECT_TRUE(MapJob(nodes, request, kNoNode).ok());
  request.apps[0].num_procs = 5;
  EXPECT_EQ(MapJob(nodes, request, kNoNode).code(),
            kErrJobInsufficientResources);
}

TEST(Mapper, AListOfSlotsBindsEachRankToItsCpus) {
  // Two packages of four cores, each with two hardware threads.
  std::vector<MapNode> nodes = Nodes(2, 4, kTwoPackages);
  JobRequest request = Request(3);
  request.apps[0].hosts = {{"n1"}, {"n0"}, {"n1"}};
  request.places.map_by = "seq";
  request.places.bind_to = "slots=1:0-1|5|0:*";
  const auto job = MapWhole(nodes, request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(MapText(*job), "n1:0,2 n0:1");
  EXPECT_EQ(BindText(*job), "8-11 10-11 0-7");
  EXPECT_EQ(job->bind_to, "core");
  const auto refused = [&](const std::string& bind_to) {
    request.places.bind_to = bind_to;
    return Map(nodes, request);
  };
  EXPECT_EQ(refused("slots=0|1"), "--bind-to slots= has no CPUs for rank 2");
  EXPECT_EQ(refused("slots=0|8|0"),
            "rank 1 on node n0: there is no core 8; they are numbered from 0 "
            "to 7");
  EXPECT_NE(refused("slots=0|x|0").find("rank 1 on node n0: 'x' is no list"),
            std::string::npos);
  nodes[0].topology = nullptr;
  EXPECT_EQ(refused("slots=0|0|0"),
            "rank 1 on node n0: its CPUs are not known");
  request.places.map_by = "node";
  EXPECT_NE(refused("slots=0|0|0").find("needs --map-by seq"),
            std::string::npos);
}

TEST(Mapper, BySequenceEachProcessGetsTheNextHost) {
  JobRequest request = Request(0);
  request.places.map_by = "seq";
  request.places.hosts = {{"n1", 0, false}, {"n0", 2, true}, {"n1", 0, false}};
  const std::vector<MapNode> nodes = Nodes(2, 4, kTwoPackages);
  EXPECT_EQ(Map(nodes, request), "n1:0,3 n0:1,2");
  request.apps[0].num_procs = 2;
  EXPECT_EQ(Map(nodes, request), "n1:0 n0:1");
  request.apps[0].num_procs = 5;
  EXPECT_EQ(Map(nodes, request),
            "--map-by seq takes one host for each process: 5 asked for, 4 "
            "hosts in the list");
}

TEST(Mapper, NoLocalExcludesTheNodeOfTheUser) {
  JobRequest request = Request(0);
  request.places.no_local = true;
  EXPECT_EQ(Map(Nodes(2, 2, ""), request, 10), "n1:0,1");
  EXPECT_EQ(Map(Nodes(1, 2, ""), request, 10),
            "nolocal leaves no node to run on; add a node");
  request.places.no_local = false;
  request.places.map_by = "slot:nolocal";
  request.apps[0].hosts = {{"n0", 0, false}, {"n1", 1, true}};
  EXPECT_EQ(Map(Nodes(2, 2, ""), request, 10), "n1:0");
}

TEST(Mapper, SeveralProgramsShareTheRanksOfTheJob) {
  JobRequest request = Request(3);
  request.apps.push_back({"", {"./b", "-x"}, {"A=1"}, "/tmp", 2});
  Result<JobSpec> job = MapWhole(Nodes(2, 4, kTwoPackages), request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(MapText(*job), "n0:0,1,2,3 n1:4");
  ASSERT_EQ(job->apps.size(), 2u);
  EXPECT_EQ(job->apps[1].cmd, "./b");
  EXPECT_EQ(job->apps[1].cwd, "/tmp");
  EXPECT_EQ(job->apps[0].num_procs, 3u);
  EXPECT_EQ(job->apps[1].num_procs, 2u);
  EXPECT_EQ(job->procs[3].app, 1u);
  // Both applications name n1. The slots of one do not count for the other.
  request.apps[0].hosts = {{"n1", 0, false}};
  request.apps[1].hosts = {{"n1", 2, true}};
  EXPECT_EQ(Map(Nodes(2, 4, ""), request), "n1:0,1,2,3,4");
  job = MapWhole(Nodes(2, 4, ""), request);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->app_nodes[0].names, std::vector<std::string>{"n1"});
  EXPECT_EQ(job->app_nodes[1].slots, 2u);
  request.apps[1].num_procs = 0;
  EXPECT_EQ(Map(Nodes(2, 4, ""), request),
            "with several programs, each needs its -n; ./b has none");
}

TEST(Mapper, TheMapHasThePropertiesOfTheRequest) {
  JobRequest request = Request(3);
  request.env = {"X=1"};
  request.cwd = "/home/u";
  request.timeout_seconds = 60;
  request.merge_stderr = true;
  request.kill_grace_seconds = 9;
  request.stdin_rank = 2;
  request.inject = Inject::kNever;
  request.places.map_by = "node";
  Result<JobSpec> job = MapWhole(Nodes(3, 4, kTwoPackages), request);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->env, request.env);
  EXPECT_EQ(job->cwd, "/home/u");
  EXPECT_EQ(job->timeout_seconds, 60u);
  EXPECT_TRUE(job->merge_stderr);
  EXPECT_EQ(job->kill_grace_seconds, 9u);
  EXPECT_EQ(job->stdin_rank, 2u);
  EXPECT_EQ(job->universe_size, 12u);
  EXPECT_EQ(job->max_procs, 12u);
  EXPECT_EQ(job->map_by, "node");
  EXPECT_EQ(job->rank_by, "node");
  EXPECT_EQ(job->nodes[2].agent, 12u);
  EXPECT_EQ(job->nodes[2].slots, 4u);
  EXPECT_EQ(job->inject, Inject::kNever);
  // The map must survive its encoding for the agents.
  Result<JobSpec> copy = DecodeJobSpec(EncodeJobSpec(*job));
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(MapText(*copy), MapText(*job));
  EXPECT_EQ(BindText(*copy), BindText(*job));
}

}  // namespace
}  // namespace canopy::host
