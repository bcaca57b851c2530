// The engine of fence, connect, disconnect, and the construction and
// destruction of process groups.
//
// An agent whose local participants have all arrived contributes once.
// Contributions are aggregated up the collective's tree: each agent forwards
// the contributions of its subtree when they are complete. The top, which then
// has all contributions, releases the collective. Participants and nodes are
// tracked by identity, so a duplicate message has no effect, and after a loss
// everything is resent to the new parent.
//
// This class passes arrivals, messages and changes to the series that they
// concern. ArrivalCheck decides whether an arrival is accepted, MemberLookup
// finds the members of a series, Deferrals keeps the arrivals and messages that
// wait for them, PendingBytes limits the memory that a job's processes cause
// this agent to hold, EndWalks handles the ends of processes, and GroupEnds the
// end of groups that a member has left. CollectiveProgress is the state machine
// of each collective.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/collective/arrival_check.h"
#include "server/core/collective/collective_progress.h"
#include "server/core/collective/connections.h"
#include "server/core/collective/deferrals.h"
#include "server/core/collective/end_walks.h"
#include "server/core/collective/group_ends.h"
#include "server/core/collective/groups.h"
#include "server/core/collective/member_lookup.h"
#include "server/core/collective/pending_bytes.h"
#include "server/core/collective/series.h"
#include "server/core/collective/series_table.h"
#include "server/core/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/modex/modex.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Not synchronised. Tree, table and store outlive the engine. The caller
// updates them before it notifies the engine of a change.
class Collectives final : public Engine {
 public:
  Collectives(NodeId self, const Tree& tree, JobTable& jobs, ModexStore& modex);

  void OnArrived(const StepContext& step, const CollectiveArrived& in);
  void OnLocalFence(const StepContext& step, const LocalFenceArrived& in);
  void OnUp(const StepContext& step, NodeId src, const CollectiveUp& up);
  void OnDown(const StepContext& step, NodeId src, const CollectiveDown& down);
  // Called when the connection has ended. Replies to it are dropped. The
  // arrivals of its process stay valid.
  void OnClientGone(const StepContext& step, ClientId client) override;
  // Called when a job's map became known or was reported unknown, whether or
  // not this engine has requested the map.
  void OnJobAdded(const StepContext& step, const std::string& nspace) override;
  void OnJobUnknown(const StepContext& step,
                    const std::string& nspace) override;
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;
  // Called when a rank on any node has ended or lost its connection.
  void OnRankGone(const StepContext& step, const ProcId& proc) override;
  // Called when a rank has a new process, which takes part in the collectives
  // that have not ended yet.
  void OnRankRestarted(const StepContext& step, const ProcId& proc) override;
  void OnTreeChanged(const StepContext& step) override;
  // Called when a node has a successor agent, which has none of the messages
  // that its predecessor received.
  void OnNodeRestarted(const StepContext& step, NodeId node) override;
  // Handle the leave of a process from a group, and its repetition. See the
  // functions of the same names of GroupEnds (group_ends.h).
  bool OnLeft(const StepContext& step, const ProcId& proc,
              const std::string& group, uint64_t made);
  bool TakeLeftBefore(const ProcId& proc, const std::string& group) {
    return group_ends_.TakeLeftBefore(proc, group);
  }
  // Makes the engine emit PersistRecord for the state that a successor needs.
  void set_persists(bool on) override { progress_.set_persists(on); }
  void OnJobRecovered(const StepContext& step, const JobRecovered& in) override;
  // Records that the job's local processes were recovered from a predecessor.
  void OnRecovered(const std::string& nspace) { progress_.OnRecovered(nspace); }
  // Restores a predecessor's record of ended collectives of a series. Records
  // are passed oldest first.
  void Recover(const PersistedRecord& record);
  // Must be called before the process arrives at a collective.
  void OnReattached(const StepContext& step, const ClientReattached& in);
  void OnTick(const StepContext& step) override;
  // Returns when OnTick must be called next, or kNever.
  TimeNs NextDeadline() const override {
    return ends_.empty() ? table_.NextDeadline() : 0;
  }

  // Returns the participant lists over several namespaces in which the process
  // is connected. The end of the process is an event for the members of these
  // lists.
  std::vector<std::vector<ProcId>> ConnectionsOf(const ProcId& proc) const {
    return connections_.Of(proc);
  }

  // Returns the groups with members on this node.
  const Groups& groups() const { return groups_; }

  size_t num_series() const { return table_.size(); }
  size_t num_connections() const { return connections_.size(); }
  size_t num_deadlines() const { return table_.num_deadlines(); }
  void Count(ResourceCounts* counts) const override;
  // Appends the pending operations of the job, or of all jobs if `nspace` is
  // empty.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const override;

 private:
  void NoteIgnored(const StepContext& step,
                   const std::vector<std::string>& keys);
  // Handles a deadline that has passed. Returns true if it was moved, because a
  // debugger holds a participant.
  bool PutOff(TimeNs now, const SeriesTable::Expired& expired);
  // Removes the arrival of a process that was replaced, if no other agent knows
  // of the arrival.
  void TakeBackArrival(Series& series, int index) const;
  // Handles an arrival that is new, or that was deferred.
  void Admit(const StepContext& step, const CollectiveArrived& in,
             TimeNs deadline);
  // Replies to a process that repeats its request after a recovery, if the
  // collective completed under the predecessor and the members are not known
  // yet.
  bool AnswerRecovered(const StepContext& step, Series& series,
                       const ProcId& proc, const CollectiveArrived& in) const;
  void Arrive(const StepContext& step, Series& series,
              const CollectiveArrived& in, TimeNs deadline);
  // Records the directives that a member of a group gives with its arrival.
  void TakeDirectives(const StepContext& step, const CollectiveArrived& in,
                      const ProcId& proc, Instance* instance);
  void Accept(const StepContext& step, Series& series,
              const CollectiveArrived& in, uint64_t sequence, int index,
              TimeNs deadline);
  // Handles the arrivals and messages that were deferred until the members of
  // the series are known.
  void TakeUpDeferred(const StepContext& step, Series& series);
  // Keeps the arrival until this agent has the maps of all jobs.
  void Defer(const StepContext& step, Series& series,
             const CollectiveArrived& in, const ProcId& proc, TimeNs deadline);
  void DropWaiters(Series& series, ClientId client);

  bool MayBeAskedAgain(const Series& series) const;
  void KeepRecovered(Series& series);

  const NodeId self_;
  JobTable& jobs_;
  SeriesTable table_;
  Connections connections_;
  Groups groups_;
  ArrivalCheck check_;
  MemberLookup lookup_;
  Deferrals deferrals_;
  PendingBytes pending_;
  CollectiveProgress progress_;
  EndWalks ends_;
  GroupEnds group_ends_;
  // Processes that were connected to the predecessor and are the first
  // processes of their ranks, so their counts of collectives are those of the
  // ranks.
  std::set<ProcId> reattached_;
  // Ignored directives for which the log already has a line.
  std::set<std::string> ignored_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_H_
