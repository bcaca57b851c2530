// A series: the state that this agent has of all collectives of one operation
// on one list of participants (and, for groups, one name).
//
// The n-th call of a participant on such a list belongs to collective n, its
// sequence number. Each local participant has its own count (`arrivals`), so a
// series is kept as long as a participant may refer to it. A collective is in
// one of these states:
//
//   not begun    not below `next`, and in neither map
//   active       an Instance: arrivals and contributions are gathered, then
//                reported to the parent
//   completed    below `next`, or in `completed`; a CompletedCollective keeps
//                the result while another agent or a local process may need it
//
// Invariants: all sequences below `next` have completed at this agent. All
// sequences below `recovered` completed under a predecessor; `recovered <=
// next`. This agent contributes to a collective only if it is number `next`, so
// a contribution shows that its sender has the results of all earlier
// collectives. The delta base `acknowledged` depends on that.
// docs/design/collectives.md has the table of transitions.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_SERIES_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_SERIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/collective/collective_plan.h"
#include "server/core/collective/group_record.h"
#include "server/core/collective/pending_bytes.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/tree.h"

namespace canopy::core {

// A local process that has arrived and waits for the reply.
struct CollectiveWaiter {
  ClientId client = 0;
  RequestId request = 0;
  ProcId proc;
  bool at_barrier = false;  // as in CollectiveArrived
};

// The contribution of one node, and the neighbour that brought it to this
// agent.
struct Contribution {
  Bytes data;
  NodeId via = kNoNode;
};
using Contributions = std::map<NodeId, Contribution>;

// The time at which something expires; the number makes the key unique.
using DeadlineKey = std::pair<TimeNs, uint64_t>;

// A collective in progress.
struct Instance {
  TimeNs started = 0;
  bool collect = false;
  // Only for a group's construct: true if a local member has declined to
  // exchange data.
  bool keeps_data = false;
  std::vector<bool> arrived;  // by local index
  size_t num_arrived = 0;     // number of true values in `arrived`
  std::vector<CollectiveWaiter> waiters;
  Contributions contributions;
  std::set<NodeId> contributors;  // neighbours that have contributed
  NodeId sent_to = kNoNode;       // last parent to which this agent contributed
  // True if this agent has contributed to any parent, so that the top may have
  // released the collective.
  bool sent = false;
  // The failure status requested from the top; kSuccess: no request was made.
  int asked = 0;
  std::vector<ProcId> asked_missing;
  // Index at which the search for an awaited node begins: the last search found
  // that the nodes before this index were not awaited.
  size_t first_awaited = 0;
  // By local index: the version of the data in this agent's contribution.
  std::vector<uint64_t> sent_versions;
  std::vector<DeadlineKey> deadlines;
  // For group operations: the requests and shared data of the local members,
  // and the flags of every contribution received.
  GroupRecord group;
  // Agents that were sent a request to take part in the end of a group.
  std::set<NodeId> asked_to_end;
  size_t shared_below = 0;  // bytes that members on other nodes share
  // the result of a group operation, after it was computed or received
  Bytes result;
  PendingCharge charge;  // charged to the process that arrived first
};

// A collective that has completed at this agent. It is retained while a
// participant, or a neighbour whose parent is lost, may still need its result.
struct CompletedCollective {
  int status = 0;
  std::vector<ProcId> missing;
  Contributions contributions;
  std::set<NodeId> notified;  // neighbours that have the result
  NodeId parent = kNoNode;    // parent to which it was last reported
  Bytes result = {};          // of a group operation, as in CollectiveDown
  // local members of the group that this collective has ended
  std::vector<ProcId> members = {};
};

// A message, and the neighbour that sent it.
using DeferredUp = std::pair<NodeId, CollectiveUp>;
using DeferredDown = std::pair<NodeId, CollectiveDown>;

// An arrival or a message that waits for the map of a job.
struct DeferredCollective {
  std::variant<CollectiveArrived, DeferredUp, DeferredDown> what;
  TimeNs deadline = kNever;   // deadline of an arrival
  PendingCharge charge = {};  // of an arrival
};

struct Series {
  CollectiveId id;         // the sequence is unused
  std::string charged_to;  // the job whose limits apply
  // Set by SeriesTable: the number of the series, its jobs, and its deadlines.
  uint64_t number = 0;
  std::vector<std::string> jobs;
  std::set<DeadlineKey> deadlines;
  // Set once this agent has all maps.
  std::optional<CollectiveMembers> members;
  CollectiveTree place;
  uint64_t place_version = UINT64_MAX;
  // Members that may be gone, or whose node may be lost. This is a superset of
  // the members that are gone, so that a collective does not have to check
  // every member.
  std::vector<ProcId> suspects;
  // By local index: the number of arrivals, and whether it is known. After a
  // recovery, it becomes known when the process reattaches or arrives.
  std::vector<uint64_t> arrivals;
  std::vector<bool> arrivals_known;
  // All sequences below have completed at this agent.
  uint64_t next = 0;
  // all sequences below this completed under a predecessor
  uint64_t recovered = 0;
  // true if the last recovered collective carried data
  bool recovered_data = true;
  Bytes recovered_result;  // result of the last recovered collective
  // The counts that reattached processes have reported, kept until the members
  // are known.
  std::map<ProcId, uint64_t> reattached;
  // By local index: the version of the data that the nodes of all members have
  // acknowledged (the delta base). A node that contributes to the next
  // collective has completed the previous one.
  std::vector<uint64_t> acknowledged;
  std::map<uint64_t, Instance> active;
  std::map<uint64_t, CompletedCollective> completed;
  std::vector<DeferredCollective> deferred;
  // Sequences of collectives that fail when the members become known, because
  // there was no room to defer one of their messages.
  std::set<uint64_t> refused;

  // Returns whether the collective has completed at this agent or at a
  // predecessor.
  bool IsOver(uint64_t sequence) const {
    return sequence < next || completed.contains(sequence);
  }
  // Advances a number of arrivals past the completed collectives.
  void SkipOver(uint64_t* arrivals) const;
  // Returns whether the series can be erased: no process or agent can refer to
  // its state any more, and a later arrival would make an equal series.
  bool IsBlank() const;
  // Returns the result of a collective that completed under a predecessor;
  // empty unless `sequence` is the last of these.
  Bytes RecoveredResult(uint64_t sequence) const {
    return sequence + 1 == recovered ? recovered_result : Bytes();
  }
  // Names returns whether a participant belongs to the namespace; Includes
  // returns whether a participant is the process.
  bool Names(std::string_view nspace) const;
  bool Includes(const ProcId& proc) const;
  std::vector<uint64_t> ActiveSequences() const;

  // Looks up the members; this agent must have the maps of all jobs. Returns
  // false and sets no members if the participants name a process that does not
  // exist.
  bool SetMembers(const JobTable& jobs, const Tree& tree, NodeId self);
  // Updates `place` after a change of the tree. If the place has changed, the
  // suspects are determined again.
  void UpdatePlace(const JobTable& jobs, const Tree& tree, NodeId self);
  Instance& FindOrAddInstance(TimeNs now, uint64_t sequence);
  // Advances `next` past collectives that have completed out of order.
  void AdvanceNext();
  // Marks earlier collectives as completed, because a success implies that they
  // have completed at every node that contributed, even if their release did
  // not pass this agent.
  void SkipEarlier(uint64_t sequence);
  // Drops results that cannot be requested any more. A later success implies
  // that every node has completed the earlier collectives. A failure is
  // retained for local participants that have yet to arrive at it.
  void PruneCompleted(const JobTable& jobs);
  // Drops the results of a group's constructs up to `sequence`: the end of the
  // group shows that every member has them.
  void Forget(uint64_t sequence);
  // Marks collectives as completed if they have ended for a process that has
  // reattached.
  void ApplyReattached();
  // Called when one of the series' jobs is over. Keeps only the collectives
  // that a predecessor completed, whose results local processes may still
  // request.
  void KeepRecovered();

 private:
  void FindSuspects(const JobTable& jobs, const Tree& tree);
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_SERIES_H_
