#include "server/datastore/session_contents.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/values/value.h"
#include "pmix_common.h"
#include "server/datastore/maps.h"

namespace canopy::datastore {
namespace {

// Global ranks by agent, ascending.
using RanksByAgent = std::map<NodeId, std::vector<Rank>>;

RanksByAgent GlobalRanks(const JobSpec& job) {
  RanksByAgent ranks;
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    ranks[job.nodes[job.procs[rank].node].agent].push_back(job.nproc_offset +
                                                           rank);
  }
  for (const SessionJob& other : job.others) {
    Rank next = other.nproc_offset;
    for (const SessionJob::Run& run : other.runs) {
      if (run.count == 0) continue;
      std::vector<Rank>& there = ranks[run.agent];
      for (uint32_t i = 0; i < run.count; ++i) there.push_back(next++);
    }
  }
  for (auto& [agent, there] : ranks) std::ranges::sort(there);
  return ranks;
}

std::string NameOf(const JobSpec& job, const NodeFacts& facts, NodeId agent) {
  const SessionNode* node = facts.NodeOf(agent);
  if (node != nullptr) return node->name;
  const auto own = std::ranges::find(job.nodes, agent, &JobNode::agent);
  return own == job.nodes.end() ? "" : own->name;
}

// Returns the vector notation, which numbers ranks from 0 without gaps. A
// session has gaps after a job has ended; in this case the result is empty.
std::string AnlMap(const std::vector<std::vector<Rank>>& ranks) {
  size_t count = 0;
  for (const std::vector<Rank>& there : ranks) count += there.size();
  std::vector<uint32_t> node_of(count, kNoNode);
  for (uint32_t n = 0; n < ranks.size(); ++n) {
    for (const Rank rank : ranks[n]) {
      if (rank >= count || node_of[rank] != kNoNode) return "";
      node_of[rank] = n;
    }
  }
  return ProcessMapping(node_of);
}

void AddSessionMaps(const JobSpec& job, const NodeFacts& facts, Keys* keys) {
  std::vector<std::string> names;
  std::vector<std::vector<Rank>> ranks;
  for (auto& [agent, there] : GlobalRanks(job)) {
    names.push_back(NameOf(job, facts, agent));
    if (names.back().empty()) return;
    ranks.push_back(there);
  }
  AddMaps(names, ranks, keys);
  keys->Text(PMIX_ANL_MAP, AnlMap(ranks));
}

std::vector<std::string> AllNodes(const JobSpec& job, const NodeFacts& facts) {
  if (facts.nodes.empty()) return job.allocation;
  std::vector<std::string> names;
  for (const SessionNode& node : facts.nodes) names.push_back(node.name);
  return names;
}

}  // namespace

void AddSessionKeys(const JobSpec& job, const NodeFacts& facts, Keys* keys) {
  keys->Number(PMIX_SESSION_ID, job.session_id);
  keys->Number(PMIX_UNIV_SIZE, job.universe_size);
  keys->Text(PMIX_CLUSTER_ID, facts.cluster_id);
  keys->Text(PMIX_RM_NAME, facts.rm_name);
  keys->Text(PMIX_RM_VERSION, facts.rm_version);
  keys->Add(PMIX_HOSTNAME_KEEP_FQDN, Value::Bool(true));
  keys->Text(PMIX_SERVER_HOSTNAME, NameOf(job, facts, facts.self));
  keys->Text(PMIX_TMPDIR, facts.tmpdir);
  // A job's directory is removed with its content; see Datastore::DropJob.
  if (!facts.tmpdir.empty()) {
    keys->Add(PMIX_TDIR_RMCLEAN, Value::Bool(true));
  }
}

shm::KeyValues SessionContents(const JobSpec& job, const NodeFacts& facts) {
  Keys keys;
  AddSessionKeys(job, facts, &keys);
  keys.Number(PMIX_MAX_PROCS, job.universe_size);
  keys.Number(PMIX_NUM_SLOTS, job.universe_size);
  AddAllocation(AllNodes(job, facts), &keys);
  AddSessionMaps(job, facts, &keys);
  return keys.Take();
}

std::map<NodeId, std::vector<ProcId>> OtherProcs(const JobSpec& job) {
  std::map<NodeId, std::vector<ProcId>> procs;
  for (const SessionJob& other : job.others) {
    Rank rank = 0;
    for (const SessionJob::Run& run : other.runs) {
      std::vector<ProcId>& there = procs[run.agent];
      for (uint32_t i = 0; i < run.count; ++i) {
        there.push_back({other.nspace, rank++});
      }
    }
  }
  return procs;
}

}  // namespace canopy::datastore
