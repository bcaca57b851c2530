// The jobs that an agent knows, which of their ranks run here, which processes
// are connected and which ranks have ended.
#ifndef CANOPY_SERVER_CORE_JOB_TABLE_H_
#define CANOPY_SERVER_CORE_JOB_TABLE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/debug_holds.h"
#include "server/core/met_jobs.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// Whose rights a process has.
struct Owner {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

// What is known of one rank. For ranks of other nodes only their end is
// recorded, as far as the reports pass through this agent.
struct RankState {
  bool called_init = false;  // was connected at least once
  bool finalized = false;    // finalized and did not reconnect
  bool lost = false;         // its last connection ended without finalize
  bool ended = false;
  uint32_t incarnation = 0;  // how many processes it had before this one

  // Nothing more can come from it, as far as is known.
  bool gone() const { return ended || lost; }
};

// The process of a local rank.
struct LocalProcess {
  int pid = 0;                   // 0: not started, as far as is known
  std::optional<int> exit_code;  // once it has ended: what a shell would give
};

struct Job {
  std::shared_ptr<const JobSpec> spec;
  std::shared_ptr<const JobLayout> layout;
  // Index in spec->nodes of this agent; kNoNode when no rank runs here.
  uint32_t local_node = kNoNode;
  std::vector<RankState> ranks;            // index = rank
  std::map<Rank, LocalProcess> processes;  // that were started here
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
  // The end of the rank's process need not be the rank's.
  bool may_restart(Rank rank) const {
    return !ending && ranks[rank].incarnation < spec->max_restarts;
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

// A job that is not over, and in which this agent takes no part any more.
struct LeftJob {
  std::string nspace;
  NodeId controller = kNoNode;
};

// Changes of the table since the last call.
struct JobChanges {
  std::vector<std::string> added;
  std::vector<RemovedJob> removed;
  std::vector<LeftJob> left;
  // Ranks that ended, or whose connection was lost (RankState tells which).
  std::vector<ProcId> gone;
  // Ranks whose processes were followed by others.
  std::vector<ProcId> restarted;
  // Jobs and former parents that are not registered any more.
  std::vector<std::string> released;

  bool empty() const {
    return added.empty() && removed.empty() && left.empty() && gone.empty() &&
           restarted.empty() && released.empty();
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
  // This agent takes no part in it any more, but it is not over: it stays.
  void NoteLeft(const std::string& nspace, NodeId controller) {
    changes_.left.push_back({nspace, controller});
  }

  // Null when unknown.
  const Job* Find(std::string_view nspace) const;
  const std::map<std::string, Job, std::less<>>& jobs() const { return jobs_; }
  // The namespace was known once and was removed, not long ago.
  bool WasRemoved(std::string_view nspace) const;

  // The process of a local rank was started, or (pid 0) is to be,
  // and how it has ended. No effect for others.
  void NoteStarted(const ProcId& proc, int pid);
  void NoteExit(const ProcId& proc, int exit_code);
  // The job is over, but its children, some of whose ranks are here, may ask
  // for its job data: it had that rank (kRankWildcard: it had that name).
  bool IsFormerParent(std::string_view nspace, Rank rank) const;
  // Those of both kinds.
  size_t size() const { return jobs_.size() + former_.size(); }

  // A rank's process ended. No effect when unknown or known already.
  void MarkEnded(std::string_view nspace, Rank rank);
  // Its process ended, and another follows: what is known of it begins anew,
  // and whoever is connected as that rank is not any more. No effect when
  // unknown, or unless the number is greater.
  void MarkRestarted(std::string_view nspace, Rank rank, uint32_t incarnation);
  // The process that a rank has under this agent's predecessor had so many
  // before it: nothing that is known of the rank is of another process.
  void RecoverIncarnation(std::string_view nspace, Rank rank,
                          uint32_t incarnation);
  // It ended or will end after finalize, as reported by its own agent.
  void MarkFinalized(std::string_view nspace, Rank rank);
  // Emits RegisterJob, once, also of a former parent; no effect when unknown.
  void Register(std::string_view nspace, Actions* actions);
  // RegisterJob was emitted elsewhere.
  void MarkRegistered(std::string_view nspace);
  // What local processes were given of it is given anew, if it is registered
  // again. No effect when it is not registered.
  void Unregister(std::string_view nspace);
  void MarkEnding(std::string_view nspace);
  void AddReader(std::string_view nspace, NodeId agent);

  // A process of a local rank connected; false when there is no such rank
  // here, or the number is taken.
  bool Connect(ClientId client, const ProcId& proc);
  // A tool of that owner connected; false when its namespace is a job's, or the
  // number is taken. `of_other_user`: than the agent's.
  bool ConnectTool(ClientId client, const ProcId& proc, Owner owner,
                   bool of_other_user = false);
  // Whose a process is: its job's owner, or the tool's. Null when neither is
  // known.
  std::optional<Owner> OwnerOf(const ProcId& proc) const;
  // The user whose jobs alone a process may know of, as far as no other has met
  // its own. Null: all users', as for a tool of the agent's user.
  std::optional<uint32_t> UserSeenBy(const ProcId& proc) const;
  // Whether it may know of a job, and read what processes of that have put.
  bool MaySee(const ProcId& proc, std::string_view nspace) const;
  // An operation of these, sorted, has succeeded: their jobs have met.
  void NoteMet(const std::vector<ProcId>& participants);
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

  // For how long debuggers hold processes of jobs, these and others.
  DebugHolds& holds() { return holds_; }
  const DebugHolds& holds() const { return holds_; }

  // Changes since the last call.
  JobChanges TakeChanges();
  bool has_changes() const { return !changes_.empty(); }

 private:
  struct Client {
    ProcId proc;
    bool finalized = false;
    Owner owner;                 // of a tool
    bool of_other_user = false;  // likewise
  };

  // A job that is over, kept for its children.
  struct FormerParent {
    std::shared_ptr<const JobSpec> spec;
    std::shared_ptr<const JobLayout> layout;
    bool registered = false;  // anew
  };

  RankState* FindRank(const ProcId& proc);
  // Null when it is no tool's.
  const Client* FindTool(const ProcId& proc) const;
  // Also of a former parent.
  const JobSpec* SpecOf(std::string_view nspace) const;
  bool AreOfOneUser(const std::vector<ProcId>& procs) const;
  LocalProcess* ProcessOf(const ProcId& proc);
  void NoteGone(ProcId proc);
  bool HasChildrenHere(std::string_view nspace) const;
  void ReleaseFormerParents();

  NodeId self_;
  std::map<std::string, Job, std::less<>> jobs_;
  std::map<std::string, FormerParent, std::less<>> former_;
  std::map<ClientId, Client> clients_;
  std::unordered_map<ProcId, std::vector<ClientId>, ProcIdHash> by_proc_;
  std::deque<std::string> removed_;
  DebugHolds holds_;
  MetJobs met_;
  JobChanges changes_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_TABLE_H_
