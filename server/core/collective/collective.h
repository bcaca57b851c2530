// The one engine behind fence, connect, disconnect, and the construction and
// destruction of process groups.
//
// An agent whose local participants have all arrived contributes once.
// Contributions are aggregated up the collective's tree: each agent forwards
// those of its subtree once they are complete, and the top, which then has all
// of them, releases. Participants and nodes are tracked by identity, so a
// duplicate message has no effect, and after a loss everything is resent to the
// new parent.
//
// This class brings arrivals, messages and changes to the series that they
// concern. Whether an arrival is accepted is ArrivalCheck's, the members of a
// series MemberLookup's, what waits for them in Deferrals, the ends of groups
// that somebody has left GroupEnds'. CollectiveProgress is the state machine of
// each collective.
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
#include "server/core/collective/group_ends.h"
#include "server/core/collective/groups.h"
#include "server/core/collective/member_lookup.h"
#include "server/core/collective/series.h"
#include "server/core/collective/series_table.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/modex/modex.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Not synchronised. Tree, table and store outlive the engine and have been
// updated before it is notified of a change in them.
class Collectives {
 public:
  Collectives(NodeId self, const Tree& tree, JobTable& jobs, ModexStore& modex);

  void OnArrived(TimeNs now, const CollectiveArrived& in, Actions* actions);
  void OnUp(TimeNs now, NodeId src, const CollectiveUp& up, Actions* actions);
  void OnDown(TimeNs now, NodeId src, const CollectiveDown& down,
              Actions* actions);
  // The connection ended, so replies to it are dropped. Its arrivals stay
  // valid.
  void OnClientGone(ClientId client);
  // A job map became known or was reported unknown, whether TakeWanted named it
  // or not.
  void OnJobAdded(TimeNs now, const std::string& nspace, Actions* actions);
  void OnJobUnknown(TimeNs now, const std::string& nspace, Actions* actions);
  void OnJobRemoved(const std::string& nspace, Actions* actions);
  // A rank, here or elsewhere, ended or lost its connection.
  void OnRankGone(TimeNs now, const ProcId& proc, Actions* actions);
  // A rank has another process, which takes part in what has not ended yet.
  void OnRankRestarted(const ProcId& proc);
  void OnTreeChanged(TimeNs now, Actions* actions);
  // A node's successor agent has none of the messages that its predecessor
  // received.
  void OnNodeRestarted(TimeNs now, NodeId node, Actions* actions);
  // Groups whose messages would pass it are refused.
  void OnNodeIsOld(TimeNs now, NodeId node, bool old, Actions* actions);
  // See GroupEnds.
  bool OnLeft(TimeNs now, const ProcId& proc, const std::string& group,
              uint64_t made, Actions* actions);
  bool TakeLeftBefore(const ProcId& proc, const std::string& group) {
    return group_ends_.TakeLeftBefore(proc, group);
  }
  // Whether to emit PersistRecord for what a successor needs.
  void set_persists(bool on) { progress_.set_persists(on); }
  // The job's local processes were recovered from a predecessor.
  void OnRecovered(const std::string& nspace) { progress_.OnRecovered(nspace); }
  // A predecessor's record: collectives of a series that have ended. Oldest
  // first.
  void Recover(const PersistedRecord& record);
  // Comes before the process arrives at anything.
  void OnReattached(TimeNs now, const ClientReattached& in, Actions* actions);
  void OnTick(TimeNs now, Actions* actions);
  // When OnTick wants to be called; kNever when it does not.
  TimeNs NextDeadline() const { return table_.NextDeadline(); }

  // Participant lists over several namespaces in which the process is
  // connected: its end is an event to their members.
  std::vector<std::vector<ProcId>> ConnectionsOf(const ProcId& proc) const {
    return connections_.Of(proc);
  }

  // Those with members on this node.
  const Groups& groups() const { return groups_; }

  size_t num_series() const { return table_.size(); }
  size_t num_connections() const { return connections_.size(); }
  size_t num_deadlines() const { return table_.num_deadlines(); }
  // Groups that were constructed here without some of their participants, since
  // the last call.
  std::vector<Groups::Key> TakeIncomplete() {
    return progress_.TakeIncomplete();
  }
  // Constructs that failed for want of participants and have a leader here,
  // since the last call.
  std::vector<FailedConstruct> TakeFailed() { return progress_.TakeFailed(); }
  // Members of groups constructed here whose processes were followed by others,
  // or left, before that, since the last call.
  std::vector<std::pair<Groups::Key, ProcId>> TakeFollowed() {
    return progress_.TakeFollowed();
  }
  // Namespaces whose maps are needed, since the last call.
  std::vector<std::string> TakeWanted() { return lookup_.TakeWanted(); }
  // Whether one of the calls above has something to give.
  bool has_news() const { return progress_.has_news() || lookup_.has_wanted(); }
  // Adds pending operations; an empty namespace means all.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;

 private:
  void RefuseThroughOldNodes(StepContext& step);
  void NoteIgnored(StepContext& step, const std::vector<std::string>& keys);
  // The deadline has passed; true: it has a later one.
  bool PutOff(TimeNs now, const SeriesTable::Expired& expired);
  // A process has another in its place: its arrival is taken back while nobody
  // knows of it.
  void TakeBackArrival(Series& series, int index) const;
  // An arrival, new or taken up again.
  void Admit(StepContext& step, const CollectiveArrived& in, TimeNs deadline);
  // Answers whoever waits for what a predecessor has completed, while it is not
  // known who takes part.
  bool AnswerRecovered(StepContext& step, Series& series, const ProcId& proc,
                       const CollectiveArrived& in) const;
  void Arrive(StepContext& step, Series& series, const CollectiveArrived& in,
              TimeNs deadline);
  // What a member of a group asks for, when it arrives.
  void TakeDirectives(StepContext& step, const CollectiveArrived& in,
                      const ProcId& proc, Instance* instance);
  void Accept(StepContext& step, Series& series, const CollectiveArrived& in,
              uint64_t sequence, int index, TimeNs deadline);
  // What has waited for the members of the series, which it has now.
  void TakeUpDeferred(StepContext& step, Series& series);
  // A local rank is alive but has lost its connection: only its own agent can
  // fail the collectives that wait for it, now or later.
  void ReportLost(StepContext& step, const ProcId& proc);

  bool MayBeAskedAgain(const Series& series) const;
  SeriesTable::Map::iterator KeepRecovered(SeriesTable::Map::iterator it);

  const NodeId self_;
  JobTable& jobs_;
  SeriesTable table_;
  Connections connections_;
  Groups groups_;
  ArrivalCheck check_;
  MemberLookup lookup_;
  Deferrals deferrals_;
  CollectiveProgress progress_;
  GroupEnds group_ends_;
  // Processes that were connected to the predecessor, and whose counts are
  // those of their ranks: no other process preceded them.
  std::set<ProcId> reattached_;
  // Directives that were ignored, of which the log has a line.
  std::set<std::string> ignored_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_H_
