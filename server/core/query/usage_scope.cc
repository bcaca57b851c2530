#include "server/core/query/usage_scope.h"

#include "common/status.h"
#include "server/core/query/query.h"

namespace canopy::core {
namespace {

constexpr int kAnyPid = -1;

}  // namespace

UsageScope::UsageScope(const QueryScope& scope, const UsageWanted& wanted)
    : scope_(scope), wanted_(wanted), status_(kSuccess) {
  NameNodes();
  if (wanted.fields.proc != 0) {
    NameProcesses();
    NamePids();
    if (wanted.targets.procs.empty() || !pids_.empty()) SelectSession();
  }
  if (wanted.fields.of_node()) SelectNodes();
  if (status_ == kSuccess) return;
  jobs_.clear();
  nodes_.clear();
}

std::optional<NodeId> UsageScope::NodeOf(const std::string& host,
                                         uint32_t id) const {
  Query query;
  query.hostname = host;
  if (host.empty()) query.nodeid = id;
  return scope_.NodeOf(query);
}

void UsageScope::NameNodes() {
  const auto add = [&](const std::optional<NodeId>& node) {
    if (node) named_.insert(*node);
    if (!node) status_ = kErrNotFound;
  };
  for (const std::string& host : wanted_.targets.hosts) add(NodeOf(host, 0));
  for (const uint32_t id : wanted_.targets.nodeids) add(NodeOf("", id));
}

void UsageScope::NameProcesses() {
  for (const ProcId& proc : wanted_.targets.procs) {
    Query query;
    query.proc = proc;
    const Job* job = scope_.JobOf(query);
    const bool is_there = job != nullptr && (proc.rank == kRankWildcard ||
                                             proc.rank < job->num_ranks());
    if (!is_there) {
      status_ = kErrNotFound;
      continue;
    }
    jobs_.insert(job);
    ranks_[proc.nspace].insert(proc.rank);
  }
}

void UsageScope::NamePids() {
  for (const NodePid& one : wanted_.targets.pids) {
    const std::optional<NodeId> node = NodeOf(one.host, one.nodeid);
    if (node) pids_[*node].insert(one.pid);
    if (!node) status_ = kErrNotFound;
  }
}

// Selects the jobs of the caller's session. A tool belongs to no session, so it
// gets all known jobs that it may see.
void UsageScope::SelectSession() {
  const Job* own = scope_.jobs().Find(scope_.caller().nspace);
  for (const auto& [nspace, job] : scope_.jobs().jobs()) {
    if (!scope_.MaySee(job.spec->uid)) continue;
    if (own != nullptr && job.spec->session_id != own->spec->session_id) {
      continue;
    }
    jobs_.insert(&job);
  }
}

void UsageScope::SelectNodes() {
  const Job* own = scope_.jobs().Find(scope_.caller().nspace);
  const bool only_devices = wanted_.fields.node == 0;
  if (wanted_.targets.names_nodes()) {
    nodes_ = named_;
  } else if (own == nullptr || only_devices) {
    nodes_ = {scope_.self()};
  } else {
    for (const JobNode& node : own->spec->nodes) nodes_.insert(node.agent);
  }
  if (!wanted_.targets.local_only) return;
  std::erase_if(nodes_, [this](NodeId n) { return n != scope_.self(); });
}

bool UsageScope::IsIncluded(NodeId node) const {
  if (node == kNoNode) return false;
  if (wanted_.targets.local_only && node != scope_.self()) return false;
  return !wanted_.targets.names_nodes() || named_.contains(node);
}

bool UsageScope::IsNamed(const std::string& nspace, Rank rank) const {
  const auto ranks = ranks_.find(nspace);
  return ranks != ranks_.end() && (ranks->second.contains(kRankWildcard) ||
                                   ranks->second.contains(rank));
}

bool UsageScope::Has(const Job& job, const ProcessFacts& process) const {
  const NodeId node = job.agent_of(process.rank);
  if (!jobs_.contains(&job) || !IsIncluded(node)) return false;
  if (!wanted_.targets.names_processes()) return true;
  if (IsNamed(job.nspace(), process.rank)) return true;
  const auto pids = pids_.find(node);
  return pids != pids_.end() &&
         (pids->second.contains(kAnyPid) || pids->second.contains(process.pid));
}

std::vector<std::pair<NodeId, FactsRequest>> UsageScope::Asks() const {
  std::vector<std::pair<NodeId, FactsRequest>> asks;
  for (const Job* job : jobs_) {
    std::map<NodeId, std::set<Rank>> ranks;
    const auto add = [&](NodeId node, Rank rank) {
      if (IsIncluded(node)) ranks[node].insert(rank);
    };
    for (const JobNode& node : job->spec->nodes) {
      const bool whole = !wanted_.targets.names_processes() ||
                         pids_.contains(node.agent) ||
                         IsNamed(job->nspace(), kRankWildcard);
      if (whole) add(node.agent, kRankWildcard);
    }
    if (const auto it = ranks_.find(job->nspace()); it != ranks_.end()) {
      for (const Rank rank : it->second) {
        if (rank != kRankWildcard) add(job->agent_of(rank), rank);
      }
    }
    // An agent measures either one process or all processes of the job on its
    // node.
    for (const auto& [node, of_node] : ranks) {
      FactsRequest request;
      request.nspace = job->nspace();
      request.rank = of_node.size() == 1 ? *of_node.begin() : kRankWildcard;
      request.usage.proc = wanted_.fields.proc;
      asks.emplace_back(node, std::move(request));
    }
  }
  for (const NodeId node : nodes_) {
    FactsRequest request;
    request.usage = wanted_.fields;
    request.usage.proc = 0;
    asks.emplace_back(node, std::move(request));
  }
  return asks;
}

}  // namespace canopy::core
