#include "server/core/query/query_scope.h"

#include <algorithm>
#include <iterator>

namespace canopy::core {

const std::string& QueryScope::NspaceOf(const Query& query) const {
  return query.proc.nspace.empty() ? caller_.nspace : query.proc.nspace;
}

const Job* QueryScope::JobOf(const Query& query) const {
  const Job* job = jobs_.Find(NspaceOf(query));
  return job != nullptr && MaySee(job->spec->uid) ? job : nullptr;
}

bool QueryScope::MaySee(uint32_t uid) const {
  return MaySeeAll() || *uid_ == uid;
}

std::optional<NodeId> QueryScope::NodeOf(const Query& query) const {
  if (query.nodeid) {
    return *query.nodeid < node_names_.size() ? query.nodeid : std::nullopt;
  }
  if (query.hostname.empty()) return self_;
  const auto [it, added] = named_.try_emplace(query.hostname);
  if (added) it->second = FindNode(query);
  return it->second;
}

// Finds a node by its name. An alias of a host is searched in the jobs of the
// query and of its caller.
std::optional<NodeId> QueryScope::FindNode(const Query& query) const {
  const auto it = std::ranges::find(node_names_, query.hostname);
  if (it != node_names_.end()) {
    return static_cast<NodeId>(std::distance(node_names_.begin(), it));
  }
  for (const Job* job : {JobOf(query), jobs_.Find(caller_.nspace)}) {
    if (job == nullptr) continue;
    for (const JobNode& node : job->spec->nodes) {
      if (std::ranges::count(node.aliases, query.hostname) > 0) {
        return node.agent;
      }
    }
  }
  return std::nullopt;
}

Rank QueryScope::RankOf(const Query& query) const {
  if (query.names_rank()) return query.proc.rank;
  return NspaceOf(query) == caller_.nspace ? caller_.rank : kRankWildcard;
}

std::vector<NodeId> QueryScope::AgentsOf(const Query& query, const Job& job,
                                         Rank rank) const {
  std::vector<NodeId> agents;
  if (rank != kRankWildcard) {
    if (rank < job.num_ranks()) agents.push_back(job.agent_of(rank));
    return agents;
  }
  const std::optional<NodeId> node = NodeOf(query);
  for (const JobNode& one : job.spec->nodes) {
    if (NamesNode(query) && one.agent != node) continue;
    agents.push_back(one.agent);
  }
  return agents;
}

}  // namespace canopy::core
