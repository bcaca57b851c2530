// The jobs that an agent knows, which of their ranks run here, which processes
// are connected and which ranks have ended.
#ifndef CANOPY_SERVER_CORE_JOB_TABLE_H_
#define CANOPY_SERVER_CORE_JOB_TABLE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// What is known of one rank. For ranks of other nodes only their end is
// recorded, as far as the reports pass through this agent.
struct RankState {
  bool called_init = false;  // was connected at least once
  bool finalized = false;    // finalized and did not reconnect
  bool lost = false;         // its last connection ended without finalize
  bool ended = false;

  // Nothing more can come from it, as far as is known.
  bool gone() const { return ended || lost; }
};

struct Job {
  std::shared_ptr<const JobSpec> spec;
  std::shared_ptr<const JobLayout> layout;
  // Index in spec->nodes of this agent; kNoNode when no rank runs here.
  uint32_t local_node = kNoNode;
  std::vector<RankState> ranks;  // index = rank
  // How many ranks are `ended` or were ever `lost`: an upper bound, so that no
  // search is needed when it is 0.
  uint32_t num_gone = 0;
  // RegisterJob was emitted: local readers have its job data.
  bool registered = false;
  // Its processes are being ended: their exits raise no events.
  bool ending = false;
  // Agents that borrowed the map for their clients.
  std::set<NodeId> readers;

  const std::string& nspace() const { return spec->nspace; }
  uint32_t num_ranks() const {
    return static_cast<uint32_t>(spec->procs.size());
  }
  // The agent that hosts a rank (< num_ranks()).
  NodeId agent_of(Rank rank) const {
    return spec->nodes[spec->procs[rank].node].agent;
  }
  bool is_local(Rank rank) const {
    return rank < num_ranks() && spec->procs[rank].node == local_node;
  }
  // Ascending; empty when none runs here.
  std::span<const Rank> local_ranks() const;
};

struct RemovedJob {
  std::string nspace;
  bool registered = false;   // as in Job
  std::set<NodeId> readers;  // as in Job
};

// Changes of the table since the last call.
struct JobChanges {
  std::vector<std::string> added;
  std::vector<RemovedJob> removed;
  // Ranks that ended, or whose connection was lost (RankState tells which).
  std::vector<ProcId> gone;

  bool empty() const {
    return added.empty() && removed.empty() && gone.empty();
  }
};

// Pointers to jobs stay valid until the job is removed. One thread.
class JobTable {
 public:
  explicit JobTable(NodeId self) : self_(self) {}

  // Adds a job; null when the namespace is there already. The spec's indices
  // must be in range (DecodeJobSpec sees to that). Computes the layout.
  const Job* Add(std::shared_ptr<const JobSpec> spec);
  // Forgets it, and which clients belong to it. No effect when unknown.
  void Remove(std::string_view nspace);

  // Null when unknown.
  const Job* Find(std::string_view nspace) const;
  const std::map<std::string, Job, std::less<>>& jobs() const { return jobs_; }
  // The namespace was known once and was removed, not long ago.
  bool WasRemoved(std::string_view nspace) const;

  // A rank's process ended. No effect when unknown or known already.
  void MarkEnded(std::string_view nspace, Rank rank);
  // It ended or will end after finalize, as reported by its own agent.
  void MarkFinalized(std::string_view nspace, Rank rank);
  // Emits RegisterJob, once; no effect when unknown.
  void Register(std::string_view nspace, Actions* actions);
  // RegisterJob was emitted elsewhere.
  void MarkRegistered(std::string_view nspace);
  void MarkEnding(std::string_view nspace);
  void AddReader(std::string_view nspace, NodeId agent);

  // A process of a local rank connected; false when there is no such rank
  // here, or the number is taken.
  bool Connect(ClientId client, const ProcId& proc);
  // A tool connected; false when its namespace is a job's, or the number is
  // taken.
  bool ConnectTool(ClientId client, const ProcId& proc);
  // The client finalized; its connection still exists.
  void Finalize(ClientId client);
  void Disconnect(ClientId client);
  // Null when not connected.
  const ProcId* ProcOf(ClientId client) const;
  // Connections of a rank, in order of arrival; several when a process forked.
  std::vector<ClientId> ClientsOf(const ProcId& proc) const;
  size_t num_clients() const { return clients_.size(); }
  // Every connected client, ascending.
  std::vector<ClientId> Clients() const;

  // Changes since the last call.
  JobChanges TakeChanges();

 private:
  struct Client {
    ProcId proc;
    bool finalized = false;
  };

  RankState* FindRank(const ProcId& proc);
  void NoteGone(ProcId proc);

  NodeId self_;
  std::map<std::string, Job, std::less<>> jobs_;
  std::map<ClientId, Client> clients_;
  std::unordered_map<ProcId, std::vector<ClientId>, ProcIdHash> by_proc_;
  std::deque<std::string> removed_;
  JobChanges changes_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_TABLE_H_
