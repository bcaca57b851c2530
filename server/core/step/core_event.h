// The typed events by which the engines of a core announce changes to each
// other, and their queue.
//
// An engine never calls another one in the middle of a change of its own, and
// does not know which engines its change concerns. It posts an event;
// dispatch/propagation.h hands it to the engines that it concerns, before the
// next input.
#ifndef CANOPY_SERVER_CORE_STEP_CORE_EVENT_H_
#define CANOPY_SERVER_CORE_STEP_CORE_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/process_actions.h"

namespace canopy::core {

// ----------------------------------------------------------- the job table ---

struct AddedJob {
  std::string nspace;
};

struct RemovedJob {
  std::string nspace;
  bool registered = false;        // as in Job
  std::set<NodeId> readers = {};  // as in Job
};

// A job that is not over, but in which this agent no longer takes part.
struct LeftJob {
  std::string nspace;
  NodeId controller = kNoNode;
};

// A job or former parent that is no longer registered.
struct ReleasedJob {
  std::string nspace;
};

// Ranks of a job have ended or lost their connection (RankState), in this
// order.
struct GoneRanks {
  std::string nspace;
  std::vector<Rank> ranks;
};

// The process of the rank was replaced by another one.
struct RestartedRank {
  ProcId proc;
};

// Debuggers have begun or ended to hold the job.
struct HoldChanged {
  std::string nspace;
  bool held = false;
};

// -------------------------------------------------------------------- data ---

// Keys of one rank that were put, for the first time or again.
struct DataChange {
  ProcId proc;
  Bytes visible;                     // KVALs that ranks of this node see
  std::vector<std::string> outside;  // keys that they do not see
};

// -------------------------------------------------------------------- maps ---

// An engine needs the map of the job. AddedJob or MapUnknown follows.
struct MapWanted {
  std::string nspace;
};

// No agent has the map.
struct MapUnknown {
  std::string nspace;
};

// ------------------------------------------------------------------ groups ---

// A group was constructed here without some of its participants.
struct GroupIncomplete {
  std::string name;
  std::vector<ProcId> participants;
};

// A construct with a leader on this node has failed because participants are
// missing.
struct FailedConstruct {
  std::string name;
  ProcId leader;
  std::vector<ProcId> missing;
};

// The process of a member was replaced, or the member left, before the
// construct completed here.
struct MemberFollowed {
  std::string name;
  std::vector<ProcId> participants;
  ProcId proc;
};

// --------------------------------------------------- events and debuggers ---

// An event is to be raised: for the clients of all agents, or by its range
// alone, without a record for a successor.
struct EventDue {
  EventRaised event;
  bool for_all = true;
};

// The state of local holds is to be persisted. It precedes the event that
// notifies other agents of it.
struct HoldsRecorded {
  PersistRecord record;
};

// Processes of this node are to be continued.
struct StopReleased {
  SignalLocal signal;
};

// ------------------------------------------------------------ process sets ---

// A reply to a client that follows the events posted before it, because a
// successor reads their records.
struct ReplyDue {
  ReplyClient reply;
};

// A set has become known whose job is over. The root raises its end.
struct LateSetEnded {
  EventRaised event;
};

// The sets of a job that is unknown here were dropped.
struct SetsDropped {
  std::string nspace;
};

// ----------------------------------------------- inputs that have to wait ---

// Messages that were deferred until the views of the tree converged.
struct MessagesReleased {
  std::vector<PeerMessage> messages;
};

// The part of an input that must not run before all engines know the events
// posted by its first part: a message for the job engine, which is never null,
// and an answer to a spawn.
struct JobMessageDue {
  std::shared_ptr<const PeerMessage> message;
};
struct SpawnReplyDue {
  SpawnReply reply;
};

// A push of input whose predecessor was answered.
struct PushDue {
  ProcId proc;
  uint64_t request = 0;
};

using CoreEvent =
    std::variant<AddedJob, RemovedJob, LeftJob, ReleasedJob, GoneRanks,
                 RestartedRank, HoldChanged, DataChange, MapWanted, MapUnknown,
                 GroupIncomplete, FailedConstruct, MemberFollowed, EventDue,
                 HoldsRecorded, StopReleased, ReplyDue, LateSetEnded,
                 SetsDropped, MessagesReleased, JobMessageDue, SpawnReplyDue,
                 PushDue>;

// Events leave the queue in the order in which they were posted. Not
// synchronised.
class CoreEvents {
 public:
  CoreEvents() { events_.reserve(kUsual); }

  template <typename Event>
  void Post(Event&& event) {
    events_.emplace_back(std::forward<Event>(event));
  }
  bool empty() const { return events_.empty(); }
  // Returns the event that was posted last, or null if it was taken already or
  // has another type.
  template <typename Event>
  Event* Last() {
    return events_.empty() ? nullptr : std::get_if<Event>(&events_.back());
  }
  // Removes and returns the first event. Requires that the queue is not empty.
  CoreEvent Take() {
    CoreEvent event = std::move(events_[first_]);
    if (++first_ == events_.size()) {
      events_.clear();
      first_ = 0;
    }
    return event;
  }

 private:
  static constexpr size_t kUsual = 16;

  // Those before `first_` have left. A vector, unlike a deque, allocates
  // nothing for the events of most steps.
  std::vector<CoreEvent> events_;
  size_t first_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CORE_EVENT_H_
