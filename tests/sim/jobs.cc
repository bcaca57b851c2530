#include "tests/sim/jobs.h"

namespace canopy::sim {

JobSpec MakeJob(const std::string& nspace, const std::vector<NodeId>& agents) {
  JobSpec job;
  job.nspace = nspace;
  job.apps.resize(1);
  job.apps[0].cmd = "app";
  job.apps[0].argv = {"app"};
  job.apps[0].num_procs = static_cast<uint32_t>(agents.size());
  std::map<NodeId, uint32_t> index;
  for (const NodeId agent : agents) {
    const auto [it, added] =
        index.try_emplace(agent, static_cast<uint32_t>(job.nodes.size()));
    if (added) job.nodes.push_back({"n" + std::to_string(agent), {}, agent, 8});
    job.procs.push_back({it->second, 0, ""});
  }
  job.stdin_target = StdinTarget::kNone;
  return job;
}

JobSpec MakeJob(const std::string& nspace, uint32_t nodes, uint32_t per_node) {
  std::vector<NodeId> agents;
  for (NodeId node = 0; node < nodes; ++node) {
    agents.insert(agents.end(), per_node, node);
  }
  return MakeJob(nspace, agents);
}

NodeId JobCatalog::NodeOf(const ProcId& proc) const {
  const JobSpec& job = Find(proc.nspace);
  return job.nodes[job.procs[proc.rank].node].agent;
}

}  // namespace canopy::sim
