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
// concern, and holds back what waits for a job map; CollectiveProgress is the
// state machine of each collective.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/collective/collective_progress.h"
#include "server/core/collective/connections.h"
#include "server/core/collective/groups.h"
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

// Messages that may wait for a job map to arrive; the collectives of more fail.
inline constexpr size_t kMaxDeferred = 4096;

// Maps that one collective asks for at a time, so that names that nobody knows
// cost a bounded number of requests.
inline constexpr size_t kMaxMapsAtOnce = 64;

// Collectives of one series that one process may have pending; more are
// refused. Limits for each job are in series_table.h.
inline constexpr uint64_t kMaxPipelined = 1024;

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
  // A process leaves a group: it takes part in its end no more. False when it
  // is no member. `made`: of that group alone, which may be yet to come here
  // (GroupRecord); 0: whichever there is.
  bool OnLeft(TimeNs now, const ProcId& proc, const std::string& group,
              uint64_t made, Actions* actions);
  // The process has left such a group under a predecessor, and asks again, as
  // it does not know: true once.
  bool TakeLeftBefore(const ProcId& proc, const std::string& group) {
    const auto left = left_before_.find({proc, group});
    return left != left_before_.end() &&
           !std::exchange(left->second.answered, true);
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
  std::vector<std::string> TakeWanted();
  // Whether one of the calls above has something to give.
  bool has_news() const { return progress_.has_news() || !wanted_.empty(); }
  // Adds pending operations; an empty namespace means all.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;

 private:
  // The last groups of one name that a process has left, by participants.
  struct LeftBefore {
    std::set<std::vector<ProcId>> groups;
    bool answered = false;  // it has asked again
  };

  // Why an arrival cannot be accepted; kSuccess: it can.
  int Check(const CollectiveArrived& in, const ProcId& proc,
            CollectiveId* id) const;
  int CheckGroup(const CollectiveArrived& in, const ProcId& proc,
                 CollectiveId* id) const;
  int CheckGroupIndex(const Series& series, const CollectiveArrived& in,
                      int index) const;
  bool HasOldNode(const Series& series) const;
  void RefuseThroughOldNodes(StepContext& step);
  void NoteIgnored(StepContext& step, const std::vector<std::string>& keys);
  // The part in a group's end of a local process that has left it.
  void EndFor(StepContext& step, Series& series, int index);
  // The process has left the last group of this series before.
  bool HasLeftBefore(const ProcId& proc, const CollectiveId& end) const;
  // A process does not count the end of a group that it has left.
  void SkipLeft(Series& series, int index) const;
  // Local members of a group that is forgotten with one of its jobs, and how
  // many ends of such groups they need not ask for.
  std::map<ProcId, uint64_t> EndsBefore(const Series& series) const;
  // Of the record of a construct, also if the group has ended since.
  void RecoverLeft(const CollectiveId& construct,
                   const std::vector<ProcId>& left);
  // A predecessor's members have left groups whose ends it may not have told
  // anybody of.
  void ResumeEnds(StepContext& step, const std::string& nspace);
  // The deadline has passed; true: it has a later one.
  bool PutOff(TimeNs now, const SeriesTable::Expired& expired);
  // A process has another in its place: its arrival is taken back while nobody
  // knows of it.
  void TakeBackArrival(Series& series, int index) const;
  // As a client would have it; nothing for what names nobody, or no group.
  std::optional<CollectiveId> IdOf(const CollectiveCount& count,
                                   const ProcId& proc) const;
  // An arrival, new or taken up again.
  void Admit(StepContext& step, const CollectiveArrived& in, TimeNs deadline);
  // Answers whoever waits for what a predecessor has completed, while it is not
  // known who takes part.
  bool AnswerRecovered(StepContext& step, Series& series, const ProcId& proc,
                       const CollectiveArrived& in) const;
  // Of an arrival at a group's operation: it fails for all.
  int RefusalOf(const CollectiveId& id, const Instance& instance,
                const ProcId& proc) const;
  int CheckIndex(const Series& series, const CollectiveArrived& in,
                 int index) const;
  void Arrive(StepContext& step, Series& series, const CollectiveArrived& in,
              TimeNs deadline);
  // What a member of a group asks for, when it arrives.
  void TakeDirectives(StepContext& step, const CollectiveArrived& in,
                      const ProcId& proc, Instance* instance);
  void Accept(StepContext& step, Series& series, const CollectiveArrived& in,
              uint64_t sequence, int index, TimeNs deadline);
  // Sets the members when all maps are present, else requests missing ones.
  bool Resolve(StepContext& step, Series& series);
  // A local rank is alive but has lost its connection: only its own agent can
  // fail the collectives that wait for it, now or later.
  void ReportLost(StepContext& step, const ProcId& proc);

  bool MayBeAskedAgain(const Series& series) const;
  SeriesTable::Map::iterator KeepRecovered(SeriesTable::Map::iterator it);

  // Holds back what waits for a map, and what becomes of it.
  // What processes have counted of groups, as they named them.
  void RenameCounts(const std::string& nspace);
  void Defer(StepContext& step, Series& series, DeferredCollective one);
  void Refuse(StepContext& step, Series& series, const DeferredCollective& one);
  void TakeUpDeferred(StepContext& step, Series& series);
  void FailDeferred(StepContext& step, Series& series, int status);
  void ExpireDeferred(StepContext& step, Series& series);

  const NodeId self_;
  const Tree& tree_;
  JobTable& jobs_;
  SeriesTable table_;
  Connections connections_;
  Groups groups_;
  std::set<NodeId> old_nodes_;
  CollectiveProgress progress_;
  // Processes that were connected to the predecessor, and whose counts are
  // those of their ranks: no other process preceded them.
  std::set<ProcId> reattached_;
  // Local processes and the groups that they left under the predecessor.
  std::map<std::pair<ProcId, std::string>, LeftBefore> left_before_;
  size_t num_deferred_ = 0;
  // Directives that were ignored, of which the log has a line.
  std::set<std::string> ignored_;
  std::vector<std::string> wanted_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_H_
