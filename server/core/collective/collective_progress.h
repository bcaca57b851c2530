// The state machine of a collective at one agent: the effect of contributions,
// a release, a failure or a change of the tree.
//
// An active collective gathers contributions. This agent adds its own when its
// local participants have arrived and all earlier collectives have completed at
// this agent. When the contributions of all nodes below have arrived, they are
// sent to the parent, once to each parent; the top releases the collective
// instead. A release travels down: neighbours below first, then this node's
// shared memory and the record for a successor, local clients last.
//
// A failure completes a collective in the same way. A fence may fail at one
// agent and succeed at another. Operations that connect processes or change a
// group must not, so after an agent has contributed to one, only the top may
// decide: the agent requests the failure (Instance::asked) and waits for the
// decision.
//
// The differences between the operations are in the classes derived from
// Operation (operation.h).
//
// After a change of the tree, reports and results go to the new parent again;
// they are idempotent because contributions are stored by node.
// docs/design/collectives.md has the table of states and transitions.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_PROGRESS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_PROGRESS_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/collective/groups.h"
#include "server/core/collective/operation.h"
#include "server/core/collective/operations.h"
#include "server/core/collective/series.h"
#include "server/core/collective/series_table.h"
#include "server/core/messages.h"
#include "server/core/step/clock.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// The members of every series passed in must be known. A call for one sequence
// may complete it and advance later sequences of the series. Used by one
// thread.
class CollectiveProgress {
 public:
  explicit CollectiveProgress(const CollectiveParts& parts)
      : p_(parts), operations_(parts) {}

  // Makes the engine emit PersistRecord for the state that a successor needs.
  void set_persists(bool on) {
    persists_ = on;
    operations_.set_persists(on);
  }
  // Records that the job's local processes were recovered from a predecessor.
  void OnRecovered(const std::string& nspace) { recovered_.insert(nspace); }
  void DropJob(const std::string& nspace) { recovered_.erase(nspace); }
  bool IsRecovered(const std::string& nspace) const {
    return recovered_.contains(nspace);
  }

  // Returns the collective. If it is not active yet, it begins.
  Instance& FindOrBegin(TimeNs now, Series& series, uint64_t sequence);
  void ApplyUp(const StepContext& step, Series& series, NodeId src,
               const CollectiveUp& up);
  void ApplyDown(const StepContext& step, Series& series, NodeId src,
                 const CollectiveDown& down);
  // Takes the next steps that are possible: contributes for this node, forwards
  // contributions, or releases the collective. Does nothing if the sequence is
  // not active.
  void Advance(const StepContext& step, Series& series, uint64_t sequence);
  // Fails the active collective if a participant that it needs is gone. Returns
  // whether the collective has completed. A tolerant group continues without
  // the participant.
  bool EndIfGone(const StepContext& step, Series& series, uint64_t sequence);
  // Fails the collective, and notifies parent and children except for `except`.
  void Fail(const StepContext& step, Series& series, uint64_t sequence,
            int status, std::vector<ProcId> missing, NodeId except);
  // Called when the deadline of an active collective has passed.
  void Expire(const StepContext& step, Series& series, uint64_t sequence);
  void OnTreeChanged(const StepContext& step, Series& series);
  // Called when a node has a successor agent, which has none of the messages
  // that its predecessor received.
  void OnNodeRestarted(const StepContext& step, Series& series, NodeId node);
  // Persists the record that a member has left the group.
  void PersistLeft(const StepContext& step, const Group& group) const {
    operations_.construct().PersistLeft(step, group);
  }
  // Replies to local processes that wait for collectives that a predecessor
  // completed.
  void ReleaseRecovered(const StepContext& step, Series& series);

 private:
  Operation& OperationOf(const Series& series) {
    return operations_.Of(series.id.op);
  }
  // Requests that the agent of a member that is gone contribute to the end of
  // the group, or fail it.
  void AskToEnd(const StepContext& step, const Series& series,
                uint64_t sequence, NodeId node, Instance* instance) const;
  void AddOwnContribution(const Series& series, uint64_t sequence,
                          Instance& instance);
  // Returns whether this agent has all the contributions that it needs before
  // it forwards them.
  bool IsComplete(const Series& series, Instance* instance) const;
  // Returns whether no process of the node can take part any more.
  bool IsOverFor(const Series& series, NodeId node) const;
  // Completes the collective. `except` is the neighbour that reported the end,
  // or kNoNode.
  void Release(const StepContext& step, Series& series, uint64_t sequence,
               int status, std::vector<ProcId> missing, NodeId except);
  void NotifyBelow(const StepContext& step, const Series& series,
                   uint64_t sequence, const Instance& instance, NodeId except,
                   CompletedCollective* completed);
  void TakeResult(const StepContext& step, Series& series, uint64_t sequence,
                  CompletedCollective& completed, Instance* instance);
  // Stores the data of a successful collective for the processes of this node.
  void StoreResult(const StepContext& step, Series& series, uint64_t sequence,
                   const CompletedCollective& completed, Instance* instance);
  void Persist(const StepContext& step, const Series& series, uint64_t sequence,
               const CompletedCollective& completed, bool collect);
  // Returns whether a predecessor may have contributed already. In that case
  // the other agents use the predecessor's contribution.
  bool MayBePredecessors(const Series& series, uint64_t sequence) const;

  bool IsDecidedAbove(const Series& series, uint64_t sequence,
                      const Instance& instance);
  // Fails the collective, or requests its failure from the top.
  void FailOrAsk(const StepContext& step, Series& series, uint64_t sequence,
                 int status, std::vector<ProcId> missing, NodeId except);
  void AnswerLate(const StepContext& step, Series& series, NodeId src,
                  const CollectiveUp& up);
  void AnswerRecovered(const StepContext& step, Series& series,
                       uint64_t sequence, NodeId to);
  void ResendReports(const StepContext& step, Series& series);
  void SendDown(const StepContext& step, const Series& series,
                uint64_t sequence, const CompletedCollective& completed,
                NodeId to);

  const CollectiveParts p_;
  Operations operations_;
  std::set<std::string> recovered_;  // namespaces
  bool persists_ = false;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_PROGRESS_H_
