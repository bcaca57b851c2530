// The state machine of a collective at one agent: what its contributions, its
// release, a failure or a change of the tree does to it.
// docs/design/collectives.md has the table of states.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_PROGRESS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_PROGRESS_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/collective/connections.h"
#include "server/core/collective/groups.h"
#include "server/core/collective/series.h"
#include "server/core/collective/series_table.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/modex/modex.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {

// A construct that failed for want of some participants, of a leader on this
// node.
struct FailedConstruct {
  std::string name;
  ProcId leader;
  std::vector<ProcId> missing;
};

// The members of a group share more than it may have.
bool SharesTooMuch(const Instance& instance);

// Every series that is passed in has its members. A call for one sequence may
// complete it and take later ones of the series further. One thread.
class CollectiveProgress {
 public:
  struct Parts {
    NodeId self;
    const Tree& tree;
    JobTable& jobs;
    ModexStore& modex;
    SeriesTable& table;
    Connections& connections;
    Groups& groups;
  };
  // The parts outlive it.
  explicit CollectiveProgress(const Parts& parts) : p_(parts) {}

  // Whether to emit PersistRecord for what a successor needs.
  void set_persists(bool on) { persists_ = on; }
  // The job's local processes were recovered from a predecessor.
  void OnRecovered(const std::string& nspace) { recovered_.insert(nspace); }
  void DropJob(const std::string& nspace) { recovered_.erase(nspace); }
  bool IsRecovered(const std::string& nspace) const {
    return recovered_.contains(nspace);
  }

  // The collective, which begins with it here unless it is active.
  Instance& FindOrBegin(TimeNs now, Series& series, uint64_t sequence) const;
  void ApplyUp(StepContext& step, Series& series, NodeId src,
               const CollectiveUp& up);
  void ApplyDown(StepContext& step, Series& series, NodeId src,
                 const CollectiveDown& down);
  // Contributes for this node, passes contributions on, or releases, whichever
  // is due. No effect when the sequence is not active.
  void Advance(StepContext& step, Series& series, uint64_t sequence);
  // Fails the active collective when a participant that it needs is gone; true
  // if so. A group may go on without it.
  bool EndIfGone(StepContext& step, Series& series, uint64_t sequence);
  // The collective cannot succeed any more: notifies parent and children, but
  // for `except`.
  void Fail(StepContext& step, Series& series, uint64_t sequence, int status,
            std::vector<ProcId> missing, NodeId except);
  // The deadline of an active collective has passed.
  void Expire(StepContext& step, Series& series, uint64_t sequence);
  void OnTreeChanged(StepContext& step, Series& series);
  // A node's successor agent has none of the messages that its predecessor
  // received.
  void OnNodeRestarted(StepContext& step, Series& series, NodeId node);
  // See Collectives.
  std::vector<Groups::Key> TakeIncomplete() {
    return std::exchange(incomplete_, {});
  }
  std::vector<FailedConstruct> TakeFailed() {
    return std::exchange(failed_, {});
  }
  std::vector<std::pair<Groups::Key, ProcId>> TakeFollowed() {
    return std::exchange(followed_, {});
  }
  bool has_news() const {
    return !incomplete_.empty() || !failed_.empty() || !followed_.empty();
  }
  // A member has left the group: a successor is to know.
  void PersistLeft(StepContext& step, const Group& group) const;
  // Answers those who wait for what a predecessor has completed.
  void ReleaseRecovered(StepContext& step, Series& series);

 private:
  void AskToEnd(StepContext& step, const Series& series, uint64_t sequence,
                NodeId node, Instance* instance) const;
  void AddOwnContribution(const Series& series, uint64_t sequence,
                          Instance& instance) const;
  // Contributions that this agent must have before it passes them on.
  bool IsComplete(const Series& series, Instance* instance) const;
  bool IsOverFor(const Series& series, NodeId node) const;
  // At the top, of a group's operation.
  void MakeResult(TimeNs now, const Series& series, Instance* instance);
  // The end: `except` is the neighbour that reported it, or kNoNode.
  void Release(StepContext& step, Series& series, uint64_t sequence, int status,
               std::vector<ProcId> missing, NodeId except);
  void NotifyBelow(StepContext& step, const Series& series, uint64_t sequence,
                   const Instance& instance, NodeId except,
                   CompletedCollective* completed);
  void TakeResult(StepContext& step, Series& series, uint64_t sequence,
                  CompletedCollective& completed, Instance* instance);
  // There is such a group now, or not any more. `made`: the one that a destruct
  // ends, if it is known (GroupRecord).
  void TakeGroup(StepContext& step, Series& series, uint64_t sequence,
                 CompletedCollective& completed, uint64_t made);
  static std::vector<ProcId> SkipEndsBefore(const Group& group,
                                            uint64_t sequence, Series& series);
  void NoteFailed(const Series& series, const CompletedCollective& completed,
                  const ProcId& leader);
  void ForgetConstruct(StepContext& step, const Series& destruct,
                       const Group* group);
  bool IsInEffect(const CollectiveId& id) const;
  void Persist(StepContext& step, const Series& series, uint64_t sequence,
               const CompletedCollective& completed, bool collect) const;
  // A predecessor may have contributed already, in which case the other agents
  // use that contribution.
  bool MayBePredecessors(const Series& series, uint64_t sequence) const;

  bool IsDecidedAbove(const Series& series, uint64_t sequence,
                      const Instance& instance) const;
  // Fails it, or asks the top to.
  void FailOrAsk(StepContext& step, Series& series, uint64_t sequence,
                 int status, std::vector<ProcId> missing, NodeId except);
  void AnswerLate(StepContext& step, Series& series, NodeId src,
                  const CollectiveUp& up);
  void AnswerRecovered(StepContext& step, Series& series, uint64_t sequence,
                       NodeId to);
  void ResendReports(StepContext& step, Series& series);
  void SendDown(StepContext& step, const Series& series, uint64_t sequence,
                const CompletedCollective& completed, NodeId to);

  const Parts p_;
  uint64_t last_made_ = 0;
  std::vector<Groups::Key> incomplete_;
  std::vector<std::pair<Groups::Key, ProcId>> followed_;
  std::vector<FailedConstruct> failed_;
  std::set<std::string> recovered_;  // namespaces
  bool persists_ = false;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_PROGRESS_H_
