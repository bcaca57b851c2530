#include "hostmodule/mapper.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "hostmodule/map_policy.h"
#include "server/hwinfo/hwinfo.h"

namespace canopy::host {
namespace {

std::shared_ptr<const Topology> Machine(const std::string& description) {
  static std::map<std::string, std::shared_ptr<const Topology>> known;
  if (known.contains(description)) return known[description];
  Result<Topology> t = hwinfo::FromDescription(description);
  EXPECT_TRUE(t.ok()) << description << ": " << t.status().message();
  return known[description] =
             std::make_shared<const Topology>(t.ok() ? *t : Topology());
}

// n0, n1, ...: alike, with their slots and (unless empty) their processors.
std::vector<MapNode> Nodes(uint32_t count, uint32_t slots,
                           const std::string& description) {
  std::shared_ptr<const Topology> topology;
  if (!description.empty()) topology = Machine(description);
  std::vector<MapNode> nodes;
  for (uint32_t i = 0; i < count; ++i) {
    MapNode node;
    node.name = "n" + std::to_string(i);
    node.aliases = {node.name + ".example.org"};
    node.agent = 10 + i;
    node.slots = slots;
    node.topology = topology;
    nodes.push_back(node);
  }
  return nodes;
}

MapRequest Request(uint32_t num_procs) {
  MapRequest request;
  request.nspace = "job";
  request.apps.push_back({{"./a"}, {}, "", num_procs, {}});
  return request;
}

// "n0:0,2 n1:1,3": nodes in the job's order, their ranks.
std::string MapText(const JobSpec& job) {
  std::string out;
  for (uint32_t n = 0; n < job.nodes.size(); ++n) {
    std::string ranks;
    for (Rank r = 0; r < job.procs.size(); ++r) {
      if (job.procs[r].node != n) continue;
      ranks += (ranks.empty() ? "" : ",") + std::to_string(r);
    }
    out += (out.empty() ? "" : " ") + job.nodes[n].name + ":" + ranks;
  }
  return out;
}

// "0 1 2-3": CPU sets by rank, '-' for none.
std::string BindText(const JobSpec& job) {
  std::string out;
  for (const ProcPlacement& p : job.procs) {
    if (!out.empty()) out += " ";
    out += p.cpuset.empty() ? "-" : p.cpuset;
  }
  return out;
}

// What a case gives: the map, or the error's text.
std::string Map(const std::vector<MapNode>& nodes, const MapRequest& request) {
  Result<JobSpec> job = MapJob(nodes, request);
  return job.ok() ? MapText(*job) : job.status().message();
}

struct MapCase {
  uint32_t procs;
  const char* map_by;
  const char* rank_by;
  const char* expected;
};

constexpr char kTwoPackages[] = "pack:2 core:4 pu:2";

TEST(Mapper, Policies) {
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
    MapRequest request = Request(c.procs);
    request.map_by = c.map_by;
    request.rank_by = c.rank_by;
    EXPECT_EQ(Map(nodes, request), c.expected)
        << c.procs << " " << c.map_by << " " << c.rank_by;
  }
}

TEST(Mapper, Oversubscription) {
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
    MapRequest request = Request(c.procs);
    request.map_by = c.map_by;
    Result<JobSpec> job = MapJob(nodes, request);
    ASSERT_TRUE(job.ok()) << job.status().message();
    EXPECT_EQ(MapText(*job), c.expected) << c.map_by;
    EXPECT_EQ(job->oversubscribed, job->procs.size() > 4) << c.map_by;
    if (job->oversubscribed) {
      EXPECT_EQ(job->bind_to, "none");
    }
  }
  MapRequest option = Request(5);
  option.oversubscribe = true;
  EXPECT_EQ(Map(nodes, option), "n0:0,1,2 n1:3,4");
  option.map_by = "slot:nooversubscribe";
  EXPECT_NE(Map(nodes, option).find("not enough slots"), std::string::npos);
}

struct BindCase {
  uint32_t procs;
  const char* map_by;
  const char* bind_to;
  const char* expected;
};

TEST(Mapper, Bindings) {
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
    MapRequest request = Request(c.procs);
    request.map_by = c.map_by;
    request.bind_to = c.bind_to;
    Result<JobSpec> job = MapJob(nodes, request);
    ASSERT_TRUE(job.ok()) << c.map_by << " " << c.bind_to << ": "
                          << job.status().message();
    EXPECT_EQ(BindText(*job), c.expected) << c.map_by << " " << c.bind_to;
    EXPECT_EQ(job->bind_to == "none", job->procs[0].cpuset.empty());
  }
}

TEST(Mapper, RanksByObject) {
  const std::vector<MapNode> nodes = Nodes(2, 4, "pack:2 core:2 pu:1");
  MapRequest request = Request(8);
  // Mapped to cores in order, ranked by taking packages in turn.
  request.map_by = "core";
  request.rank_by = "package";
  request.bind_to = "core";
  Result<JobSpec> job = MapJob(nodes, request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(MapText(*job), "n0:0,1,2,3 n1:4,5,6,7");
  EXPECT_EQ(BindText(*job), "0 2 1 3 0 2 1 3");
  request.rank_by = "span";
  request.map_by = "package";
  job = MapJob(nodes, request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(MapText(*job), "n0:0,1,4,5 n1:2,3,6,7");
  request.map_by = "slot";
  request.rank_by = "core";
  request.bind_to = "none";
  EXPECT_EQ(Map(nodes, request),
            "--rank-by core needs processes that are mapped by or bound to a "
            "core; add --map-by core");
}

TEST(Mapper, NothingIsBoundByDefaultWhereItWouldHurt) {
  const auto bound = [](const std::vector<MapNode>& nodes, uint32_t procs) {
    MapRequest request = Request(procs);
    request.oversubscribe = true;
    Result<JobSpec> job = MapJob(nodes, request);
    EXPECT_TRUE(job.ok());
    return job.ok() ? job->bind_to : "";
  };
  std::vector<MapNode> nodes = Nodes(2, 4, "core:4 pu:1");
  EXPECT_EQ(bound(nodes, 2), "core");
  EXPECT_EQ(bound(nodes, 8), "numa");
  EXPECT_EQ(bound(Nodes(2, 4, kTwoPackages), 8), "package");
  EXPECT_EQ(bound(nodes, 9), "none");
  nodes[0].slots_in_use = 1;
  EXPECT_EQ(bound(nodes, 2), "none");
  nodes[0].slots_in_use = 0;
  nodes[0].topology = nullptr;
  EXPECT_EQ(bound(nodes, 2), "none");
  nodes = Nodes(2, 4, "core:4 pu:1");
  for (MapNode& node : nodes) node.machine = "box";
  EXPECT_EQ(bound(nodes, 2), "none");
}

TEST(Mapper, EmulatedNodesShareTheirCpus) {
  std::vector<MapNode> nodes = Nodes(4, 2, "core:2 pu:1");
  for (MapNode& node : nodes) node.machine = "box";
  MapRequest request = Request(8);
  Result<JobSpec> job = MapJob(nodes, request);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(MapText(*job), "n0:0,1 n1:2,3 n2:4,5 n3:6,7");
  EXPECT_EQ(BindText(*job), "- - - - - - - -");
  EXPECT_TRUE(job->oversubscribed);
  request = Request(2);
  request.map_by = "node";
  request.bind_to = "core";
  job = MapJob(nodes, request);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(BindText(*job), "0 1");
  EXPECT_FALSE(job->oversubscribed);
  request.apps[0].num_procs = 3;
  EXPECT_EQ(MapJob(nodes, request).code(), kErrJobInsufficientResources);
}

TEST(Mapper, Hosts) {
  std::vector<MapNode> nodes = Nodes(4, 4, kTwoPackages);
  nodes[3].slots_in_use = 2;
  const std::tuple<uint32_t, std::vector<MapHost>, const char*> cases[] = {
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
  };
  for (const auto& [procs, hosts, expected] : cases) {
    MapRequest request = Request(procs);
    request.local_agent = 12;
    request.hosts = hosts;
    EXPECT_EQ(Map(nodes, request), expected) << hosts[0].name;
    request.hosts.clear();
    request.apps[0].hosts = hosts;
    EXPECT_EQ(Map(nodes, request), expected) << hosts[0].name << " of an app";
  }
}

TEST(Mapper, SlotsThatTheUserGivesAreNotOversubscription) {
  MapRequest request = Request(6);
  request.apps[0].hosts = {{"n0", 6, true}};
  Result<JobSpec> job = MapJob(Nodes(1, 4, "core:8 pu:1"), request);
  ASSERT_TRUE(job.ok());
  EXPECT_FALSE(job->oversubscribed);
  EXPECT_EQ(job->universe_size, 6u);
}

TEST(Mapper, SequenceOfHosts) {
  MapRequest request = Request(0);
  request.map_by = "seq";
  request.hosts = {{"n1", 0, false}, {"n0", 2, true}, {"n1", 0, false}};
  const std::vector<MapNode> nodes = Nodes(2, 4, kTwoPackages);
  EXPECT_EQ(Map(nodes, request), "n1:0,3 n0:1,2");
  request.apps[0].num_procs = 2;
  EXPECT_EQ(Map(nodes, request), "n1:0 n0:1");
  request.apps[0].num_procs = 5;
  EXPECT_EQ(Map(nodes, request),
            "--map-by seq takes one host for each process: 5 asked for, 4 "
            "hosts in the list");
}

TEST(Mapper, NoLocal) {
  MapRequest request = Request(0);
  request.no_local = true;
  request.local_agent = 10;
  EXPECT_EQ(Map(Nodes(2, 2, ""), request), "n1:0,1");
  EXPECT_EQ(Map(Nodes(1, 2, ""), request),
            "nolocal leaves no node to run on; add a node");
  request.no_local = false;
  request.map_by = "slot:nolocal";
  request.apps[0].hosts = {{"n0", 0, false}, {"n1", 1, true}};
  EXPECT_EQ(Map(Nodes(2, 2, ""), request), "n1:0");
}

TEST(Mapper, SeveralPrograms) {
  MapRequest request = Request(3);
  request.apps.push_back({{"./b", "-x"}, {"A=1"}, "/tmp", 2, {}});
  Result<JobSpec> job = MapJob(Nodes(2, 4, kTwoPackages), request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(MapText(*job), "n0:0,1,2,3 n1:4");
  ASSERT_EQ(job->apps.size(), 2u);
  EXPECT_EQ(job->apps[1].cmd, "./b");
  EXPECT_EQ(job->apps[1].cwd, "/tmp");
  EXPECT_EQ(job->apps[0].num_procs, 3u);
  EXPECT_EQ(job->apps[1].num_procs, 2u);
  EXPECT_EQ(job->procs[3].app, 1u);
  // Each on its own host, whatever the other has taken.
  request.apps[0].hosts = {{"n1", 0, false}};
  request.apps[1].hosts = {{"n1", 2, true}};
  EXPECT_EQ(Map(Nodes(2, 4, ""), request), "n1:0,1,2,3,4");
  request.apps[1].num_procs = 0;
  EXPECT_EQ(Map(Nodes(2, 4, ""), request),
            "of several programs each needs its -n; ./b has none");
}

TEST(Mapper, WhatTheJobSays) {
  MapRequest request = Request(3);
  request.session_id = 7;
  request.uid = 1000;
  request.env = {"X=1"};
  request.cwd = "/home/u";
  request.timeout_seconds = 60;
  request.merge_stderr = true;
  request.kill_grace_seconds = 9;
  request.stdin_target = "2";
  request.map_by = "node";
  Result<JobSpec> job = MapJob(Nodes(3, 4, kTwoPackages), request);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->nspace, "job");
  EXPECT_EQ(job->session_id, 7u);
  EXPECT_EQ(job->uid, 1000u);
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
  request.stdin_target = "all";
  EXPECT_EQ(MapJob(Nodes(3, 4, ""), request)->stdin_target, StdinTarget::kAll);
  EXPECT_EQ(MapJob(Nodes(3, 4, ""), request)->inject, Inject::kAuto);
  request.inject = "never";
  EXPECT_EQ(MapJob(Nodes(3, 4, ""), request)->inject, Inject::kNever);
  request.inject = "often";
  EXPECT_EQ(MapJob(Nodes(3, 4, ""), request).code(), kErrBadParam);
  request.inject = "always";
  EXPECT_EQ(MapJob(Nodes(3, 4, ""), request)->inject, Inject::kAlways);
  request.stdin_target = "none";
  EXPECT_EQ(MapJob(Nodes(3, 4, ""), request)->stdin_target, StdinTarget::kNone);
  // It must survive the way to the agents.
  Result<JobSpec> copy = DecodeJobSpec(EncodeJobSpec(*job));
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(MapText(*copy), MapText(*job));
  EXPECT_EQ(BindText(*copy), BindText(*job));
}

TEST(Mapper, Errors) {
  const auto check = [](const std::vector<MapNode>& nodes,
                        const MapRequest& request, int code, const char* text) {
    Result<JobSpec> job = MapJob(nodes, request);
    EXPECT_EQ(job.code(), code) << text;
    EXPECT_EQ(job.status().message(), text);
  };
  const std::vector<MapNode> nodes = Nodes(2, 4, kTwoPackages);
  check(nodes, Request(9), kErrJobInsufficientResources,
        "not enough slots: 9 processes asked for, 8 slots free on 2 nodes; "
        "start fewer, add nodes or slots, or use --oversubscribe");
  std::vector<MapNode> busy = nodes;
  busy[0].slots_in_use = 4;
  check(busy, Request(5), kErrJobInsufficientResources,
        "not enough slots: 5 processes asked for, 4 slots free on 2 nodes (4 "
        "used by other jobs); start fewer, add nodes or slots, or use "
        "--oversubscribe");
  busy[1].slots_in_use = 5;
  check(busy, Request(0), kErrJobInsufficientResources,
        "no slot is free on the nodes of the job; wait for other jobs, add "
        "nodes, or use -n with --oversubscribe");
  MapRequest request = Request(2);
  request.apps[0].argv.clear();
  check(nodes, request, kErrJobNoExeSpecified, "no program to run was given");
  request.apps.clear();
  check(nodes, request, kErrJobNoExeSpecified, "no program to run was given");
  request = Request(2);
  request.hosts = {{"node7", 0, false}};
  check(nodes, request, kErrNotFound,
        "no node is called 'node7'; there are: n0, n1");
  request.hosts = {{"+n2", 0, false}};
  check(nodes, request, kErrNotFound,
        "there is no node +n2: the job has 2 nodes, +n0 to +n1");
  request.hosts = {{"+nx", 0, false}};
  check(nodes, request, kErrBadParam,
        "host '+nx' is not understood; write +n0 for the first node, +n1 for "
        "the second");
  request.hosts = {{"+e", 3, true}};
  check(nodes, request, kErrJobInsufficientResources,
        "host '+e' asks for nodes without processes, and there are 2");
  request = Request(2);
  request.map_by = "l3cache";
  check(nodes, request, kErrJobFailedToMap,
        "node n0 shows no l3cache to map by; use --map-by slot or node");
  request.map_by = "slot:pe=2";
  request.bind_to = "none";
  check(nodes, request, kErrBadParam,
        "pe=2 binds to cores, which --bind-to none contradicts");
  request = Request(0);
  request.map_by = "ppr:5:node";
  check(nodes, request, kErrJobInsufficientResources,
        "--map-by ppr:5:node puts 5 processes on node n0, which has 4 free "
        "slots; start fewer or use --oversubscribe");
  request = Request(5);
  request.map_by = "ppr:2:node";
  check(nodes, request, kErrJobInsufficientResources,
        "--map-by ppr:2:node makes room for 4 processes on 2 nodes, and 5 are "
        "asked for; raise the number per resource or add nodes");
  request = Request(3);
  request.bind_to = "core";
  request.oversubscribe = true;
  check(Nodes(1, 1, "core:2 pu:1"), request, kErrJobInsufficientResources,
        "binding to core would put more processes than CPUs on a core of node "
        "n0; start fewer there, use --bind-to none, or allow it with --bind-to "
        "core:overload-allowed");
  request = Request(5);
  request.map_by = "slot:pe=3";
  check(nodes, request, kErrJobInsufficientResources,
        "not enough slots: 5 processes asked for, 4 slots free on 2 nodes with "
        "3 CPUs for each process; start fewer, add nodes or slots, or use "
        "--oversubscribe");
  request = Request(2);
  request.bind_to = "numa";
  check(Nodes(1, 2, ""), request, kErrNotSupported,
        "node n0 shows no numa to bind to; use --bind-to none");
  request.bind_to = "numa:if-supported";
  EXPECT_EQ(Map(Nodes(1, 2, ""), request), "n0:0,1");
  request = Request(2);
  request.stdin_target = "2";
  check(nodes, request, kErrBadParam,
        "standard input can go to none, all or one of the ranks 0 to 1, not "
        "to '2'");
  check({}, Request(1), kErrJobInsufficientResources,
        "there is no node to run on");
  check(nodes, Request(4'000'000'000u), kErrBadParam,
        "4000000000 processes in one job are more than this can map");
}

// Whatever is asked for: every process has one rank and one place, slots and
// CPUs are never exceeded unless that was allowed, and the map survives its
// encoding.
TEST(Mapper, PropertiesOfRandomRequests) {
  const char* const machines[] = {"core:2 pu:1", kTwoPackages,
                                  "pack:2 l3:2 l2:2 core:2 pu:1", ""};
  const char* const map_by[] = {"",     "slot",     "node",      "core",
                                "numa", "package",  "core:span", "ppr:2:node",
                                "seq",  "hwthread", "slot:pe=2"};
  const char* const rank_by[] = {"", "slot", "node", "span", "core"};
  const char* const bind_to[] = {"", "none", "core", "package", "hwthread"};
  std::mt19937 random(20240607);
  const auto below = [&](uint32_t n) {
    return static_cast<uint32_t>(random() % n);
  };
  const auto pick = [&](const auto& list) {
    return list[random() % std::size(list)];
  };
  int mapped = 0;
  for (int round = 0; round < 3000; ++round) {
    const uint32_t slots = 1 + below(5);
    const std::vector<MapNode> nodes =
        Nodes(1 + below(5), slots, pick(machines));
    MapRequest request = Request(below(14));
    if (below(3) == 0) {
      request.apps[0].num_procs = 1 + below(4);
      request.apps.push_back({{"./b"}, {}, "", 1 + below(4), {}});
    }
    request.map_by = pick(map_by);
    request.rank_by = pick(rank_by);
    request.bind_to = pick(bind_to);
    request.oversubscribe = below(2) == 0;
    Result<JobSpec> job = MapJob(nodes, request);
    if (!job.ok()) {
      EXPECT_FALSE(job.status().message().empty());
      EXPECT_EQ(job.status().message().find('\n'), std::string::npos);
      continue;
    }
    ++mapped;
    const std::string what = "round " + std::to_string(round) + " map " +
                             request.map_by + " rank " + request.rank_by +
                             " bind " + request.bind_to;
    std::vector<uint32_t> on_node(job->nodes.size());
    std::vector<uint32_t> of_app(job->apps.size());
    std::map<uint32_t, CpuSet> cores_taken;
    Rank rank = 0;
    for (const ProcPlacement& p : job->procs) {
      ASSERT_LT(p.node, job->nodes.size()) << what;
      ++on_node[p.node];
      ++of_app[p.app];
      Result<CpuSet> cpus = CpuSet::Parse(p.cpuset);
      ASSERT_TRUE(cpus.ok());
      if (job->bind_to == "core") {
        EXPECT_FALSE(cores_taken[p.node].Intersects(*cpus)) << what;
        cores_taken[p.node] |= *cpus;
      }
      // Nodes are numbered in the order of their first rank.
      EXPECT_TRUE(rank++ > 0 || p.node == 0) << what;
    }
    std::set<NodeId> agents;
    for (uint32_t n = 0; n < job->nodes.size(); ++n) {
      EXPECT_TRUE(agents.insert(job->nodes[n].agent).second) << what;
      EXPECT_GT(on_node[n], 0u) << what;
      if (!request.oversubscribe && request.map_by != std::string("seq")) {
        EXPECT_LE(on_node[n], slots) << what;
      }
    }
    for (size_t a = 0; a < job->apps.size(); ++a) {
      EXPECT_EQ(of_app[a], job->apps[a].num_procs) << what;
      if (request.apps[a].num_procs > 0) {
        EXPECT_EQ(of_app[a], request.apps[a].num_procs) << what;
      }
    }
    EXPECT_TRUE(DecodeJobSpec(EncodeJobSpec(*job)).ok()) << what;
  }
  EXPECT_GT(mapped, 800);  // most of it must not be errors
}

}  // namespace
}  // namespace canopy::host
