#include "server/core/query/fact_plan.h"

#include <algorithm>
#include <set>

#include "server/core/query/facts_service.h"
#include "server/core/query/query_keys.h"

namespace canopy::core {

bool NeedsJob(std::string_view key) {
  switch (KindOf(key)) {
    case KeyKind::kJobData:
    case KeyKind::kProcTable:
    case KeyKind::kLocalProcTable:
    case KeyKind::kProcPid:
    case KeyKind::kProcState:
    case KeyKind::kMemoryUsage:
      return true;
    default:
      return false;
  }
}

void FactPlan::Add(const Query& query) {
  if (query.of_qualifiers ||
      KindOf(query.keys[0]) == KeyKind::kAttributeSupport ||
      KindOf(query.keys[0]) == KeyKind::kSupportedQualifiers) {
    return;
  }
  std::set<std::string_view> keys;
  for (const std::string& key : query.keys) {
    // Job data is answered for each occurrence of its key; other keys are
    // looked up once.
    if (keys.insert(key).second || KindOf(key) == KeyKind::kJobData) {
      Add(query, key);
    }
  }
}

void FactPlan::Add(const Query& query, const std::string& key) {
  switch (KindOf(key)) {
    case KeyKind::kNamespaces:
      return AddJobs(query, kNamesOnly);
    case KeyKind::kNamespaceInfo:
      return AddJobs(query, kRankWildcard);
    case KeyKind::kJobStatus:
    case KeyKind::kTimeRemaining:
      return AddStatus(query);
    case KeyKind::kProcTable:
      return AddProcesses(query, kRankWildcard, query.local_only);
    case KeyKind::kProcPid:
    case KeyKind::kProcState:
      if (scope_.RankOf(query) == kRankWildcard) return;
      return AddProcesses(query, scope_.RankOf(query), query.local_only);
    case KeyKind::kLocalProcTable:
      return AddProcesses(query, kRankWildcard, true);
    case KeyKind::kMemoryUsage:
      return AddMemory(query);
    case KeyKind::kDaemonMemory:
    case KeyKind::kClientAvgMemory:
      return AddNode(query);
    case KeyKind::kJobData:
      return AddData(query, key);
    default:
      return;
  }
}

void FactPlan::AddProcesses(const Query& query, Rank rank, bool local,
                            bool memory) {
  const Job* job = scope_.JobOf(query);
  if (job == nullptr) return;
  Processes processes{job->nspace(), rank, local, memory, std::nullopt};
  if (QueryScope::NamesNode(query)) processes.node = scope_.NodeOf(query);
  if (QueryScope::NamesNode(query) && !processes.node) return;
  if (!planned_.insert(processes).second) return;
  for (const NodeId agent : scope_.AgentsOf(query, *job, rank)) {
    if (agent == kNoNode || (local && agent != scope_.self())) continue;
    Ask(agent, job->nspace(), rank, false).memory |= memory;
  }
}

// If the query names a process, only that process is measured, otherwise all
// processes of the job.
void FactPlan::AddMemory(const Query& query) {
  const Rank rank = query.names_rank() ? query.proc.rank : kRankWildcard;
  AddProcesses(query, rank, query.local_only, true);
}

void FactPlan::AddJobs(const Query& query, Rank what) {
  Ask(query.local_only ? scope_.self() : root_, "", what, true);
}

void FactPlan::AddStatus(const Query& query) {
  const std::string& nspace = scope_.NspaceOf(query);
  Ask(engine_.ControllerOf(nspace), nspace, kRankWildcard, true);
}

void FactPlan::AddNode(const Query& query) {
  const auto node = scope_.NodeOf(query);
  if (!node || (query.local_only && *node != scope_.self())) return;
  Ask(*node, "", kRankWildcard, false).node = true;
}

void FactPlan::AddData(const Query& query, const std::string& key) {
  DataKey data{
      {scope_.NspaceOf(query), scope_.RankOf(query)}, key, query.realm};
  data.appnum = query.appnum;
  data.nodeid = query.nodeid;
  data.hostname = query.hostname;
  data.session_id = query.session_id;
  if (scope_.JobOf(query) == nullptr) data.proc.nspace.clear();
  if (!std::ranges::count(nspaces_, data.proc.nspace)) {
    nspaces_.push_back(data.proc.nspace);
  }
  keys_.push_back(std::move(data));
}

FactsRequest& FactPlan::Ask(NodeId node, const std::string& nspace, Rank rank,
                            bool jobs) {
  const auto [it, added] =
      subjects_.try_emplace({node, nspace, jobs}, asks_.size());
  if (added) {
    FactsRequest request;
    request.nspace = nspace;
    request.rank = rank;
    request.jobs = jobs;
    asks_.emplace_back(node, std::move(request));
  }
  FactsRequest& request = asks_[it->second].second;
  if (request.rank != rank) request.rank = kRankWildcard;
  return request;
}

}  // namespace canopy::core
