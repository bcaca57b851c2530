// The jobs that an agent knows: which ranks run here, which processes are
// connected, and which ranks have ended.
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
#include "server/core/step/core_event.h"

namespace canopy::core {

// The user and group whose rights a process has.
struct Owner {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

// The state of one rank. For ranks of other nodes only their end is recorded,
// as far as reports pass through this agent.
struct RankState {
  bool called_init = false;  // was connected at least once
  bool finalized = false;    // finalized and did not reconnect
  bool lost = false;         // its last connection ended without finalize
  bool ended = false;
  uint32_t incarnation = 0;  // number of earlier processes of the rank

  // True if nothing more can come from the rank, as far as is known.
  bool gone() const { return ended || lost; }
};

// The process of a local rank.
struct LocalProcess {
  int pid = 0;                   // 0: not started, as far as is known
  std::optional<int> exit_code;  // set at its end, as a shell would report it
};

struct Job {
  std::shared_ptr<const JobSpec> spec;
  std::shared_ptr<const JobLayout> layout;
  // This agent's index in spec->nodes; kNoNode if no rank runs here.
  uint32_t local_node = kNoNode;
  std::vector<RankState> ranks;            // indexed by rank
  std::map<Rank, LocalProcess> processes;  // those started here
  // Upper bound of the number of ranks that are gone: counts those that are
  // `ended` or were ever `lost`. 0 saves a search.
  uint32_t num_gone = 0;
  // RegisterJob was emitted: local readers have the job data.
  bool registered = false;
  // The processes are being ended, so their exits raise no events.
  bool ending = false;
  // Agents that borrowed the job's map for their clients.
  std::set<NodeId> readers;

  const std::string& nspace() const { return spec->nspace; }
  uint32_t num_ranks() const {
    return static_cast<uint32_t>(spec->procs.size());
  }
  // The agent that hosts `rank`, which must be < num_ranks().
  NodeId agent_of(Rank rank) const {
    return spec->nodes[spec->procs[rank].node].agent;
  }
  // True if the rank may be restarted when its process ends.
  bool may_restart(Rank rank) const {
    return !ending && ranks[rank].incarnation < spec->max_restarts;
  }
  bool is_local(Rank rank) const {
    return rank < num_ranks() && spec->procs[rank].node == local_node;
  }
  // Ascending; empty if no rank runs here.
  std::span<const Rank> local_ranks() const;
};

// Pointers to jobs are valid until the job is removed. One thread.
class JobTable {
 public:
  // `events` gets the changes and outlives the table. Null: changes are not
  // announced.
  explicit JobTable(NodeId self, CoreEvents* events = nullptr)
      : self_(self), events_(events), holds_(events) {}

  // Adds a job and computes its layout. Returns null if the namespace exists.
  // The spec's indices must be in range, which DecodeJobSpec ensures.
  const Job* Add(std::shared_ptr<const JobSpec> spec);
  // Removes the job and its clients. No effect if it is unknown.
  void Remove(std::string_view nspace);
  // Records that this agent no longer takes part in the job, which is not over
  // and stays in the table.
  void NoteLeft(const std::string& nspace, NodeId controller) {
    Post(LeftJob{nspace, controller});
  }

  // Returns null if the job is unknown.
  const Job* Find(std::string_view nspace) const;
  const std::map<std::string, Job, std::less<>>& jobs() const { return jobs_; }
  // True if the namespace was known and was removed recently.
  bool WasRemoved(std::string_view nspace) const;

  // Record the start of a local rank's process (pid 0: about to be started) and
  // its exit code. No effect for other ranks.
  void NoteStarted(const ProcId& proc, int pid);
  void NoteExit(const ProcId& proc, int exit_code);
  // True if the job is over but kept because children with ranks here may read
  // its job data, and it had that rank. kRankWildcard matches any job.
  bool IsFormerParent(std::string_view nspace, Rank rank) const;
  // Number of jobs and former parents.
  size_t size() const { return jobs_.size() + former_.size(); }

  // A rank's process ended. No effect if the rank is unknown or already ended.
  void MarkEnded(std::string_view nspace, Rank rank);
  // The rank's process ended and is replaced: its state is reset and its
  // connections are dropped. No effect if the rank is unknown or has ended, or
  // unless `incarnation` is greater than before.
  void MarkRestarted(std::string_view nspace, Rank rank, uint32_t incarnation);
  // Restores the incarnation of a rank's process that ran under this agent's
  // predecessor, without a reset.
  void RecoverIncarnation(std::string_view nspace, Rank rank,
                          uint32_t incarnation);
  // The rank's own agent reported that the rank finalized.
  void MarkFinalized(std::string_view nspace, Rank rank);
  // Emits RegisterJob once, also for a former parent. No effect if unknown.
  void Register(std::string_view nspace, Actions* actions);
  // RegisterJob was emitted elsewhere.
  void MarkRegistered(std::string_view nspace);
  // Withdraws a registered job's data from local processes; Register provides
  // it anew. No effect if it is not registered.
  void Unregister(std::string_view nspace);
  void MarkEnding(std::string_view nspace);
  void AddReader(std::string_view nspace, NodeId agent);

  // Connects a process of a local rank. Returns false if there is no such rank
  // here or the client number is in use.
  bool Connect(ClientId client, const ProcId& proc);
  // Connects a tool of that owner. Returns false if its namespace is a job's or
  // the client number is in use. `of_other_user`: the owner is not the agent's
  // user.
  bool ConnectTool(ClientId client, const ProcId& proc, Owner owner,
                   bool of_other_user = false);
  // The owner of a process: its job's or the tool's. Nothing if neither is
  // known.
  std::optional<Owner> OwnerOf(const ProcId& proc) const;
  // The user whose jobs the process may see; jobs of other users only once they
  // took part in an operation with its own. Nothing: all users' jobs, as for a
  // tool of the agent's user.
  std::optional<uint32_t> UserSeenBy(const ProcId& proc) const;
  // True if the process may see the job and read what the job's processes have
  // put.
  bool MaySee(const ProcId& proc, std::string_view nspace) const;
  // Records a successful operation of these processes (sorted): from now on
  // their jobs may see each other.
  void NoteMet(const std::vector<ProcId>& participants);
  // The client finalized; its connection still exists.
  void Finalize(ClientId client);
  void Disconnect(ClientId client);
  // Returns null if the client is not connected.
  const ProcId* ProcOf(ClientId client) const;
  // Connections of a rank, in order of arrival; several if its process forked.
  std::vector<ClientId> ClientsOf(const ProcId& proc) const;
  size_t num_clients() const { return clients_.size(); }
  // Every connected client, ascending.
  std::vector<ClientId> Clients() const;

  // Records for how long debuggers hold processes of jobs.
  DebugHolds& holds() { return holds_; }
  const DebugHolds& holds() const { return holds_; }

 private:
  struct Client {
    ProcId proc;
    bool finalized = false;
    Owner owner;                 // only for a tool
    bool of_other_user = false;  // only for a tool
  };

  // A job that is over, kept for its children.
  struct FormerParent {
    std::shared_ptr<const JobSpec> spec;
    std::shared_ptr<const JobLayout> layout;
    bool registered = false;  // RegisterJob was emitted again
  };

  template <typename Event>
  void Post(Event event) {
    if (events_ != nullptr) events_->Post(std::move(event));
  }
  RankState* FindRank(const ProcId& proc);
  // Returns null if the process is not a connected tool.
  const Client* FindTool(const ProcId& proc) const;
  // Also finds former parents.
  const JobSpec* SpecOf(std::string_view nspace) const;
  bool AreOfOneUser(const std::vector<ProcId>& procs) const;
  LocalProcess* ProcessOf(const ProcId& proc);
  void NoteGone(const ProcId& proc);
  bool HasChildrenHere(std::string_view nspace) const;
  void ReleaseFormerParents();

  NodeId self_;
  CoreEvents* const events_;
  std::map<std::string, Job, std::less<>> jobs_;
  std::map<std::string, FormerParent, std::less<>> former_;
  std::map<ClientId, Client> clients_;
  std::unordered_map<ProcId, std::vector<ClientId>, ProcIdHash> by_proc_;
  std::deque<std::string> removed_;
  DebugHolds holds_;
  MetJobs met_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_TABLE_H_
