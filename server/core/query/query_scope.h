// What a query is about: its job, node and process, as far as its caller may
// know of them.
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

// Lives as long as the call of an engine in which it is made. What it refers
// to outlives it.
class QueryScope {
 public:
  // `caller`: as the connection proved it, and the user of its job when it
  // called: the job may be gone by now. None: it may ask about all, as a tool
  // of the agent's own user.
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

  // The namespace that a query is about.
  const std::string& NspaceOf(const Query& query) const;
  // Its job; null when it is not known here, or not the caller's to ask about.
  const Job* JobOf(const Query& query) const;
  // Whether the caller may know of a job of that user.
  bool MaySee(uint32_t uid) const;
  // Its node: the one that is named, or this one. None: there is no such node.
  std::optional<NodeId> NodeOf(const Query& query) const;
  // Whether it names a node.
  static bool NamesNode(const Query& query) {
    return query.nodeid.has_value() || !query.hostname.empty();
  }
  // The rank that a key of one process is about: the one that is named, or the
  // caller's in its own job, or kRankWildcard.
  Rank RankOf(const Query& query) const;
  // The agents of the nodes with these processes of the job: one rank's, or
  // with kRankWildcard those on the node that the query names, or all.
  std::vector<NodeId> AgentsOf(const Query& query, const Job& job,
                               Rank rank) const;

 private:
  std::optional<NodeId> FindNode(const Query& query) const;

  const NodeId self_;
  const std::vector<std::string>& node_names_;
  const JobTable& jobs_;
  const ProcId& caller_;
  const std::optional<uint32_t> uid_;
  // By host name; a call may ask about one again and again.
  mutable std::map<std::string, std::optional<NodeId>> named_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_QUERY_SCOPE_H_
