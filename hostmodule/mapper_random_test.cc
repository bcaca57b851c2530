#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "hostmodule/map_policy.h"
#include "hostmodule/mapper.h"
#include "hostmodule/mapper_testing.h"

namespace canopy::host {
namespace {

// Checks for each random request that every process has one rank and one place,
// that slots and CPUs are exceeded only where that was allowed, and that the
// map survives its encoding.
TEST(Mapper, MapsOfRandomRequestsAreConsistent) {
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
    JobRequest request = Request(below(14));
    if (below(3) == 0) {
      request.apps[0].num_procs = 1 + below(4);
      request.apps.push_back({"", {"./b"}, {}, "", 1 + below(4)});
    }
    request.places.map_by = pick(map_by);
    request.places.rank_by = pick(rank_by);
    request.places.bind_to = pick(bind_to);
    request.places.oversubscribe = below(2) == 0;
    Result<JobSpec> job = MapWhole(nodes, request);
    if (!job.ok()) {
      EXPECT_FALSE(job.status().message().empty());
      EXPECT_EQ(job.status().message().find('\n'), std::string::npos);
      continue;
    }
    ++mapped;
    const std::string what =
        "round " + std::to_string(round) + " map " + request.places.map_by +
        " rank " + request.places.rank_by + " bind " + request.places.bind_to;
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
      if (!request.places.oversubscribe &&
          request.places.map_by != std::string("seq")) {
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
  EXPECT_GT(mapped, 800);  // most requests must succeed
}

}  // namespace
}  // namespace canopy::host
