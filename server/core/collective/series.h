// A series: all collectives of one operation on one list of participants and,
// of groups, with one name, as this agent knows them.
// docs/design/collectives.md has the table of states.
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
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/tree.h"

namespace canopy::core {

// A local process that has arrived and is to be answered.
struct CollectiveWaiter {
  ClientId client = 0;
  RequestId request = 0;
  ProcId proc;
};

// What one node brings, and the neighbour that brought it here.
struct Contribution {
  Bytes data;
  NodeId via = kNoNode;
};
using Contributions = std::map<NodeId, Contribution>;

// When something expires; the number makes it unique.
using DeadlineKey = std::pair<TimeNs, uint64_t>;

// A collective in progress.
struct Instance {
  TimeNs started = 0;
  bool collect = false;
  std::vector<bool> arrived;  // by local index
  size_t num_arrived = 0;     // how many of them are true
  std::vector<CollectiveWaiter> waiters;
  Contributions contributions;
  std::set<NodeId> contributors;  // neighbours that contributed
  NodeId sent_to = kNoNode;       // parent that received our contribution
  // Some parent has received it: the top may have released the collective.
  bool sent = false;
  // Why it should fail, which the top has been asked for; kSuccess: not asked.
  int asked = 0;
  std::vector<ProcId> asked_missing;
  // Where the search for a node that is awaited begins: those before it were
  // not awaited when it was last looked for.
  size_t first_awaited = 0;
  // By local index: the version of the data in our contribution.
  std::vector<uint64_t> sent_versions;
  std::vector<DeadlineKey> deadlines;
  // Of a group's operation: what its local members ask for and share, with the
  // flags of all whose contributions are here.
  GroupRecord group;
  // Agents that have been asked for their part in a group's end.
  std::set<NodeId> asked_to_end;
  size_t shared_below = 0;  // bytes that members of other nodes share
  Bytes result;  // that another agent has released, or this one as the top
};

// One that has completed here, retained while a participant, or a neighbour
// whose parent is lost, may still need its result.
struct CompletedCollective {
  int status = 0;
  std::vector<ProcId> missing;
  Contributions contributions;
  std::set<NodeId> notified;  // neighbours that know
  NodeId parent = kNoNode;    // the one at that time
  Bytes result = {};          // of a group's operation, as in CollectiveDown
  std::vector<ProcId> members = {};  // of the group that it has ended, here
};

// A message, and the neighbour that sent it.
using DeferredUp = std::pair<NodeId, CollectiveUp>;
using DeferredDown = std::pair<NodeId, CollectiveDown>;

// An arrival or a message that waits for the map of a job.
struct DeferredCollective {
  std::variant<CollectiveArrived, DeferredUp, DeferredDown> what;
  TimeNs deadline = kNever;  // of an arrival
};

struct Series {
  CollectiveId id;                           // sequence unused
  std::string charged_to;                    // job whose limits it counts in
  std::optional<CollectiveMembers> members;  // once all maps are here
  CollectiveTree place;
  uint64_t place_version = UINT64_MAX;
  // Members that may be gone, or whose node may be lost: a superset, so that
  // nobody looks at each member for each collective.
  std::vector<ProcId> suspects;
  // By local index: number of arrivals, and whether it is known. After the
  // agent was replaced it is only when the process has reattached or arrives.
  std::vector<uint64_t> arrivals;
  std::vector<bool> arrivals_known;
  uint64_t next = 0;           // all before it have completed here
  uint64_t recovered = 0;      // all before it completed under a predecessor
  bool recovered_data = true;  // the last of them carried data
  Bytes recovered_result;      // of the last of them
  std::map<ProcId, uint64_t> reattached;  // counts, until members are known
  // By local index: the version of the data that all members' nodes have
  // acknowledged (the delta base), as whoever arrives at the next collective
  // has completed the last.
  std::vector<uint64_t> acknowledged;
  std::map<uint64_t, Instance> active;
  std::map<uint64_t, CompletedCollective> completed;
  std::vector<DeferredCollective> deferred;
  // Of collectives that fail when the members are known: one of their messages
  // was not deferred, for want of room.
  std::set<uint64_t> refused;

  // Has completed here, or under a predecessor.
  bool IsOver(uint64_t sequence) const {
    return sequence < next || completed.contains(sequence);
  }
  // Takes a number of arrivals past what is over.
  void SkipOver(uint64_t* arrivals) const;
  // Nothing has happened in it that anybody may refer to: without it, a later
  // arrival finds the same.
  bool IsBlank() const;
  // Of a collective that completed under a predecessor; empty where it is not
  // the last of them.
  Bytes RecoveredResult(uint64_t sequence) const {
    return sequence + 1 == recovered ? recovered_result : Bytes();
  }
  // A participant is of that namespace, or is this process.
  bool Names(std::string_view nspace) const;
  bool Includes(const ProcId& proc) const;
  std::vector<uint64_t> ActiveSequences() const;

  // The maps of all jobs are here: looks up the members. False when the
  // participants name a process that does not exist; there is no member then.
  bool SetMembers(const JobTable& jobs, const Tree& tree, NodeId self);
  // Brings `place` up to date with the tree; suspects are looked for again when
  // it has changed.
  void UpdatePlace(const JobTable& jobs, const Tree& tree, NodeId self);
  Instance& FindOrAddInstance(TimeNs now, uint64_t sequence);
  // `next` passes what has completed out of order.
  void AdvanceNext();
  // A success implies that the earlier ones have completed at every node that
  // contributed, even those that did not pass this agent.
  void SkipEarlier(uint64_t sequence);
  // Drops results that cannot be requested any more: a later success implies
  // that every node has completed the earlier ones; a failed one is retained
  // for local participants that have yet to arrive at it.
  void PruneCompleted(const JobTable& jobs);
  // Of a group's construction: its end shows that everybody has the results up
  // to that of `sequence`.
  void Forget(uint64_t sequence);
  // What has ended for a process that has reattached has completed.
  void ApplyReattached();
  // One of its jobs is over. Leaves only what a predecessor has completed, for
  // which local processes may still ask.
  void KeepRecovered();

 private:
  void FindSuspects(const JobTable& jobs, const Tree& tree);
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_SERIES_H_
