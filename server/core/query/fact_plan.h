// Determines which agents must get which requests before queries can be
// answered.
#ifndef CANOPY_SERVER_CORE_QUERY_FACT_PLAN_H_
#define CANOPY_SERVER_CORE_QUERY_FACT_PLAN_H_

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/job/engine.h"
#include "server/core/messages.h"
#include "server/core/query/query.h"
#include "server/core/query/query_scope.h"
#include "server/core/step/facts.h"

namespace canopy::core {

// Maximum number of unanswered requests to agents, of all calls together; a
// call that needs more fails with kErrResourceBusy. In a larger overlay the
// limit is two for each agent.
inline constexpr size_t kMaxAsks = 16384;

// Combines requests to the same agent about the same job. Not synchronised. The
// references passed to the constructor outlive this object.
class FactPlan {
 public:
  // `root` is the agent that knows all jobs.
  FactPlan(const QueryScope& scope, const JobEngine& engine, NodeId root)
      : scope_(scope), engine_(engine), root_(root) {}

  // Adds the requests and the keys of job data that the query needs.
  void Add(const Query& query);

  // Returns the requests with their agents, possibly this one. The `request`
  // field of each is 0.
  const std::vector<std::pair<NodeId, FactsRequest>>& asks() const {
    return asks_;
  }
  // Returns the requested keys of job data, in the order of the queries.
  const std::vector<DataKey>& keys() const { return keys_; }
  // Returns the namespaces of keys().
  const std::vector<std::string>& nspaces() const { return nspaces_; }

 private:
  struct Subject {
    NodeId node = kNoNode;
    std::string nspace;
    bool jobs = false;

    auto operator<=>(const Subject&) const = default;
  };

  // The processes of a query. Queries about the same processes are planned
  // once, because a job can have many nodes.
  struct Processes {
    std::string nspace;
    Rank rank = kRankWildcard;
    bool local = false;
    bool memory = false;
    std::optional<NodeId> node;

    auto operator<=>(const Processes&) const = default;
  };

  void Add(const Query& query, const std::string& key);
  void AddProcesses(const Query& query, Rank rank, bool local,
                    bool memory = false);
  void AddMemory(const Query& query);
  // `what` is kNamesOnly, or kRankWildcard for everything known of each job.
  void AddJobs(const Query& query, Rank what);
  void AddStatus(const Query& query);
  void AddNode(const Query& query);
  void AddData(const Query& query, const std::string& key);
  FactsRequest& Ask(NodeId node, const std::string& nspace, Rank rank,
                    bool jobs);

  const QueryScope& scope_;
  const JobEngine& engine_;
  const NodeId root_;
  std::set<Processes> planned_;
  std::map<Subject, size_t> subjects_;  // index in asks_
  std::vector<std::pair<NodeId, FactsRequest>> asks_;
  std::vector<DataKey> keys_;
  std::vector<std::string> nspaces_;
};

// Returns true if the answer to the key needs facts of a job, and so the job's
// map.
bool NeedsJob(std::string_view key);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_QUERY_FACT_PLAN_H_
