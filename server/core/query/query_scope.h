// Resolves what a query is about (job, node and process), as far as its caller
// may see it.
#ifndef CANOPY_SERVER_CORE_QUERY_QUERY_SCOPE_H_
#define CANOPY_SERVER_CORE_QUERY_QUERY_SCOPE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/query/query.h"

namespace canopy::core {

// Used during one call of an engine. The arguments of the constructor outlive
// this object.
class QueryScope {
 public:
  // `caller` is the process whose identity its connection has proved. `uid` is
  // the user of its job at the time of the call (the job may have ended since).
  // Without a value, the caller may see all jobs, as a tool of the agent's own
  // user does.
  QueryScope(NodeId self, const std::vector<std::string>& node_names,
             const JobTable& jobs, const ProcId& caller,
             std::optional<uint32_t> uid)
      : self_(self),
        node_names_(node_names),
        jobs_(jobs),
        caller_(caller),
        uid_(uid) {}

  NodeId self() const { return self_; }
  const ProcId& caller() const { return caller_; }
  const JobTable& jobs() const { return jobs_; }

  // Returns the namespace that the query is about.
  const std::string& NspaceOf(const Query& query) const;
  // Returns the query's job; null if the job is unknown to this agent or the
  // caller may not see it.
  const Job* JobOf(const Query& query) const;
  // Returns true if the caller may see jobs of that user, or of all users.
  bool MaySee(uint32_t uid) const;
  bool MaySeeAll() const { return !uid_; }
  // Returns the node that the query names, or this node if it names none; no
  // value if there is no such node.
  std::optional<NodeId> NodeOf(const Query& query) const;
  // Returns true if the query names a node.
  static bool NamesNode(const Query& query) {
    return query.nodeid.has_value() || !query.hostname.empty();
  }
  // Returns the rank that a key of one process is about: the rank that the
  // query names, the caller's own rank in its own job, otherwise kRankWildcard.
  Rank RankOf(const Query& query) const;
  // Returns the agents that host the rank of the job. For kRankWildcard, these
  // are the agents of the node that the query names, or of all nodes of the
  // job.
  std::vector<NodeId> AgentsOf(const Query& query, const Job& job,
                               Rank rank) const;

 private:
  std::optional<NodeId> FindNode(const Query& query) const;

  const NodeId self_;
  const std::vector<std::string>& node_names_;
  const JobTable& jobs_;
  const ProcId& caller_;
  const std::optional<uint32_t> uid_;
  // Results by host name, because a call may contain the same name many times.
  mutable std::map<std::string, std::optional<NodeId>> named_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_QUERY_SCOPE_H_
