#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hostmodule/mapper.h"
#include "hostmodule/mapper_testing.h"

namespace canopy::host {
namespace {

TEST(Mapper, ErrorsNameTheCauseAndGiveAdvice) {
  const auto check = [](const std::vector<MapNode>& nodes,
                        const JobRequest& request, int code, const char* text) {
    Result<JobSpec> job = MapWhole(nodes, request);
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
  JobRequest request = Request(2);
  request.apps[0].argv.clear();
  check(nodes, request, kErrJobNoExeSpecified, "no program to run was given");
  request.apps.clear();
  check(nodes, request, kErrJobNoExeSpecified, "no program to run was given");
  request = Request(2);
  request.places.hosts = {{"node7", 0, false}};
  check(nodes, request, kErrNotFound,
        "no node is called 'node7'; there are: n0, n1");
  request.places.hosts = {{"+n2", 0, false}};
  check(nodes, request, kErrNotFound,
        "there is no node +n2: the job has 2 nodes, +n0 to +n1");
  request.places.hosts = {{"+nx", 0, false}};
  check(nodes, request, kErrBadParam,
        "host '+nx' is not understood; write +n0 for the first node, +n1 for "
        "the second");
  request.places.hosts = {{"+e", 3, true}};
  check(nodes, request, kErrJobInsufficientResources,
        "host '+e' asks for nodes without processes, and there are 2");
  request.places.hosts = {{"+any", 3, true}};
  check(nodes, request, kErrJobInsufficientResources,
        "3 nodes were requested, and there are 2");
  request = Request(2);
  request.places.map_by = "l3cache";
  check(nodes, request, kErrJobFailedToMap,
        "node n0 shows no l3cache to map by; use --map-by slot or node");
  request.places.map_by = "slot:pe=2";
  request.places.bind_to = "none";
  check(nodes, request, kErrBadParam,
        "pe=2 binds to cores, which --bind-to none contradicts");
  request = Request(0);
  request.places.map_by = "ppr:5:node";
  check(nodes, request, kErrJobInsufficientResources,
        "--map-by ppr:5:node puts 5 processes on node n0, which has 4 free "
        "slots; start fewer or use --oversubscribe");
  request = Request(5);
  request.places.map_by = "ppr:2:node";
  check(nodes, request, kErrJobInsufficientResources,
        "--map-by ppr:2:node makes room for 4 processes on 2 nodes, and 5 are "
        "asked for; raise the number per resource or add nodes");
  request = Request(3);
  request.places.bind_to = "core";
  request.places.oversubscribe = true;
  check(Nodes(1, 1, "core:2 pu:1"), request, kErrJobInsufficientResources,
        "binding to core would put more processes than CPUs on a core of node "
        "n0; start fewer there, use --bind-to none, or allow it with --bind-to "
        "core:overload-allowed");
  request = Request(5);
  request.places.map_by = "slot:pe=3";
  check(nodes, request, kErrJobInsufficientResources,
        "not enough slots: 5 processes asked for, 4 slots free on 2 nodes with "
        "3 CPUs for each process; start fewer, add nodes or slots, or use "
        "--oversubscribe");
  request = Request(2);
  request.places.bind_to = "numa";
  check(Nodes(1, 2, ""), request, kErrNotSupported,
        "node n0 shows no numa to bind to; use --bind-to none");
  request.places.bind_to = "numa:if-supported";
  EXPECT_EQ(Map(Nodes(1, 2, ""), request), "n0:0,1");
  request = Request(2);
  request.stdin_rank = 2;
  check(nodes, request, kErrBadParam,
        "standard input can go to none, all or one of the ranks 0 to 1, not "
        "to '2'");
  check({}, Request(1), kErrJobInsufficientResources,
        "there is no node to run on");
  check(nodes, Request(4'000'000'000u), kErrBadParam,
        "4000000000 processes in one job are more than this can map");
}

}  // namespace
}  // namespace canopy::host
