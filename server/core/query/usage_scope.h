// Resolves which processes and nodes a sample of resource usage is about, as
// far as its caller may see them.
#ifndef CANOPY_SERVER_CORE_QUERY_USAGE_SCOPE_H_
#define CANOPY_SERVER_CORE_QUERY_USAGE_SCOPE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/query/query_scope.h"
#include "server/core/step/usage.h"

namespace canopy::core {

// Used during one call of an engine. The arguments of the constructor outlive
// this object.
class UsageScope {
 public:
  UsageScope(const QueryScope& scope, const UsageWanted& wanted);

  // Returns kErrNotFound if a named job, process or node is unknown, or belongs
  // to a job that the caller may not see; nothing is selected in that case.
  // Otherwise returns kSuccess.
  int status() const { return status_; }
  // Returns the requests to agents, possibly this one. The `request` field of
  // each is 0.
  std::vector<std::pair<NodeId, FactsRequest>> Asks() const;
  // Returns true if the sample includes the process.
  bool Has(const Job& job, const ProcessFacts& process) const;
  // Returns the selected jobs. Has selects processes of these jobs.
  const std::set<const Job*>& jobs() const { return jobs_; }
  // Returns the nodes whose own statistics are requested.
  const std::set<NodeId>& nodes() const { return nodes_; }

 private:
  void NameNodes();
  void NameProcesses();
  void NamePids();
  void SelectSession();
  void SelectNodes();
  std::optional<NodeId> NodeOf(const std::string& host, uint32_t id) const;
  bool IsIncluded(NodeId node) const;
  bool IsNamed(const std::string& nspace, Rank rank) const;

  const QueryScope& scope_;
  const UsageWanted& wanted_;
  int status_;
  std::set<NodeId> named_;                       // the nodes of the targets
  std::set<const Job*> jobs_;                    // by name, or of the session
  std::map<std::string, std::set<Rank>> ranks_;  // kRankWildcard: all
  std::map<NodeId, std::set<int>> pids_;         // -1: all
  std::set<NodeId> nodes_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_USAGE_SCOPE_H_
