// The jobs that an agent knows: which ranks run on its node, which processes
// are connected, and which ranks have ended.
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
#include "server/core/step/owner.h"

namespace canopy::core {

// The state of one rank. For ranks of other nodes only their end is recorded,
// as far as reports pass through this agent.
struct RankState {
  bool called_init = false;  // was connected at least once
  bool finalized = false;    // finalized and did not reconnect
  bool lost = false;         // its last connection ended without finalize
  bool ended = false;
  uint32_t incarnation = 0;  // number of earlier processes of the rank

  // Returns true if no more operations of the rank are expected.
  bool gone() const { return ended || lost; }
};

// The process of a local rank.
struct LocalProcess {
  int pid = 0;                   // 0: no start is known
  std::optional<int> exit_code;  // set at its end, as a shell would report it
};

struct Job {
  std::shared_ptr<const JobSpec> spec;
  std::shared_ptr<const JobLayout> layout;
  // This agent's index in spec->nodes; kNoNode if no rank runs on this node.
  uint32_t local_node = kNoNode;
  std::vector<RankState> ranks;  // indexed by rank
  // Processes that were started on this node.
  std::map<Rank, LocalProcess> processes;
  // Upper bound of the number of ranks that are gone: it counts those that are
  // `ended` or were ever `lost`. If it is 0, no search is needed.
  uint32_t num_gone = 0;
  // True if RegisterJob was emitted, so that local readers have the job data.
  bool registered = false;
  // True if the processes are being ended, so that only clients which have
  // registered for the codes are notified of their exits.
  bool ending = false;
  // Agents that borrowed the job's map, which are notified of the job's end.
  std::set<NodeId> readers;
  // The agent that controls the job, if this agent has borrowed the job's map
  // and takes no part in the job; kNoNode otherwise.
  NodeId lent_by_controller = kNoNode;

  const std::string& nspace() const { return spec->nspace; }
  uint32_t num_ranks() const {
    return static_cast<uint32_t>(spec->procs.size());
  }
  // Returns the agent that hosts `rank`, which must be < num_ranks().
  NodeId agent_of(Rank rank) const {
    return spec->nodes[spec->procs[rank].node].agent;
  }
  // Returns true if the rank may be restarted when its process ends.
  bool may_restart(Rank rank) const {
    return !ending && ranks[rank].incarnation < spec->max_restarts;
  }
  bool is_local(Rank rank) const {
    return rank < num_ranks() && spec->procs[rank].node == local_node;
  }
  // Returns the ranks of this node, ascending; empty if there is none.
  std::span<const Rank> local_ranks() const;
};

// Pointers to jobs are valid until the job is removed. Used by one thread.
class JobTable {
 public:
  // Posts changes of the table to `events`, which outlives the table. If
  // `events` is null, nothing is posted.
  explicit JobTable(NodeId self, CoreEvents* events = nullptr)
      : self_(self), events_(events), holds_(events) {}

  // Adds a job and computes its layout. Returns null if the namespace exists.
  // The spec's indices must be in range, which DecodeJobSpec ensures.
  const Job* Add(std::shared_ptr<const JobSpec> spec);
  // Removes the job and its clients. Does nothing if the job is unknown.
  void Remove(std::string_view nspace);
  // Records that this agent no longer takes part in the job, which is not over
  // and stays in the table.
  void NoteLeft(const std::string& nspace, NodeId controller) {
    Post(LeftJob{nspace, controller});
  }

  // Returns the job; null if it is unknown.
  const Job* Find(std::string_view nspace) const;
  const std::map<std::string, Job, std::less<>>& jobs() const { return jobs_; }
  // Returns true if the namespace was known and was removed recently.
  bool WasRemoved(std::string_view nspace) const;

  // Record the start of a local rank's process (pid 0: about to be started) and
  // its exit code. They do nothing for ranks of other nodes.
  void NoteStarted(const ProcId& proc, int pid);
  void NoteExit(const ProcId& proc, int exit_code);
  // Returns true if the job had that rank and is over, but is kept because
  // children with ranks on this node may read its job data. kRankWildcard
  // stands for any rank.
  bool IsFormerParent(std::string_view nspace, Rank rank) const;
  // Returns the number of jobs and former parents.
  size_t size() const { return jobs_.size() + former_.size(); }

  // Records that a rank's process has ended. Does nothing if the rank is
  // unknown or has ended already.
  void MarkEnded(std::string_view nspace, Rank rank);
  // Records that the rank's process has ended and is replaced: the rank's state
  // is reset and its connections are dropped. Does nothing if the rank is
  // unknown or has ended, or if `incarnation` is not greater than before.
  void MarkRestarted(std::string_view nspace, Rank rank, uint32_t incarnation);
  // Restores the incarnation of a process that ran under this agent's
  // predecessor. Does not reset the rank's state.
  void RecoverIncarnation(std::string_view nspace, Rank rank,
                          uint32_t incarnation);
  // Records that the rank's own agent has reported that the rank finalized.
  void MarkFinalized(std::string_view nspace, Rank rank);
  // Emits RegisterJob unless it was emitted before, also for a former parent.
  // Does nothing if the job is unknown.
  void Register(std::string_view nspace, Actions* actions);
  // Records that RegisterJob was emitted elsewhere.
  void MarkRegistered(std::string_view nspace);
  // Withdraws a registered job's data from local processes; Register provides
  // it again. Does nothing if the job is not registered.
  void Unregister(std::string_view nspace);
  void MarkEnding(std::string_view nspace);
  void AddReader(std::string_view nspace, NodeId agent);
  // Sets Job::lent_by_controller. Does nothing if the job is unknown.
  void SetLentBy(std::string_view nspace, NodeId controller);

  // Connects a process of a local rank. Returns false if there is no such rank
  // on this node or the client number is in use.
  bool Connect(ClientId client, const ProcId& proc);
  // Connects a tool of `owner`. Returns false if its namespace is that of a
  // job, or if the client number is in use. `of_other_user` is true if the
  // owner is not the agent's user.
  bool ConnectTool(ClientId client, const ProcId& proc, Owner owner,
                   bool of_other_user = false);
  // Returns the owner of a process, which is that of its job or of the tool; no
  // value if neither is known.
  std::optional<Owner> OwnerOf(const ProcId& proc) const;
  // Returns the owner of a connected tool whose user is not the agent's; no
  // value for every other process.
  std::optional<Owner> OtherOwnerOf(const ProcId& proc) const;
  // Returns the user whose jobs the process may see. It may see a job of
  // another user only after that job took part in an operation with its own
  // job. No value: it may see all jobs, as a tool of the agent's user does.
  std::optional<uint32_t> UserSeenBy(const ProcId& proc) const;
  // Returns true if the process may see the job and read the data that the
  // job's processes have put.
  bool MaySee(const ProcId& proc, std::string_view nspace) const;
  // Returns true if processes of both jobs took part in one operation.
  bool HaveMet(std::string_view a, std::string_view b) const {
    return met_.Contains(a, b);
  }
  // Records a successful operation of these processes (sorted): from now on
  // their jobs may see each other.
  void NoteMet(const std::vector<ProcId>& participants);
  // Records that the client finalized; its connection still exists.
  void Finalize(ClientId client);
  void Disconnect(ClientId client);
  // Returns the process of the client; null if the client is not connected.
  const ProcId* ProcOf(ClientId client) const;
  // Returns the connections of a rank, in order of arrival; there are several
  // if its process has forked.
  std::vector<ClientId> ClientsOf(const ProcId& proc) const;
  size_t num_clients() const { return clients_.size(); }
  // Returns all connected clients, ascending.
  std::vector<ClientId> Clients() const;

  // The times for which debuggers hold processes of jobs.
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
  // Returns the client of a tool; null if the process is not a connected tool.
  const Client* FindTool(const ProcId& proc) const;
  // Returns the map of a job or of a former parent; null if neither is known.
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
