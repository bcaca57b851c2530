// Nodes and requests for the tests of the mapper, and its results as text.
#ifndef CANOPY_HOSTMODULE_MAPPER_TESTING_H_
#define CANOPY_HOSTMODULE_MAPPER_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/job.h"
#include "common/topology.h"
#include "hostmodule/mapper.h"
#include "server/hwinfo/hwinfo.h"

namespace canopy::host {

inline constexpr char kTwoPackages[] = "pack:2 core:4 pu:2";

inline std::shared_ptr<const Topology> Machine(const std::string& description) {
  static std::map<std::string, std::shared_ptr<const Topology>> known;
  if (known.contains(description)) return known[description];
  Result<Topology> t = hwinfo::FromDescription(description);
  EXPECT_TRUE(t.ok()) << description << ": " << t.status().message();
  return known[description] =
             std::make_shared<const Topology>(t.ok() ? *t : Topology());
}

// Returns equal nodes n0, n1, ... with `slots` slots and (unless `description`
// is empty) the described processors.
inline std::vector<MapNode> Nodes(uint32_t count, uint32_t slots,
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

inline JobRequest Request(uint32_t num_procs) {
  JobRequest request;
  request.apps.push_back({"", {"./a"}, {}, "", num_procs});
  return request;
}

// Returns the complete job that the mapper makes of the request, or its error.
inline Result<JobSpec> MapWhole(const std::vector<MapNode>& nodes,
                                const JobRequest& request,
                                NodeId local_agent = kNoNode) {
  Result<JobMap> map = MapJob(nodes, request, local_agent);
  if (!map.ok()) return map.status();
  JobSpec job = MakeJob(request, *std::move(map));
  job.nspace = "job";
  return job;
}

// Returns the nodes in the job's order, with their ranks: "n0:0,2 n1:1,3".
inline std::string MapText(const JobMap& job) {
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

// Returns the CPU sets by rank, with '-' for a rank that is not bound: "0 1
// 2-3".
inline std::string BindText(const JobMap& job) {
  std::string out;
  for (const ProcPlacement& p : job.procs) {
    if (!out.empty()) out += " ";
    out += p.cpuset.empty() ? "-" : p.cpuset;
  }
  return out;
}

// Returns the map as text, or the error's text.
inline std::string Map(const std::vector<MapNode>& nodes,
                       const JobRequest& request,
                       NodeId local_agent = kNoNode) {
  Result<JobMap> job = MapJob(nodes, request, local_agent);
  return job.ok() ? MapText(*job) : job.status().message();
}

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_MAPPER_TESTING_H_
