// The typed events by which the engines of a core announce changes to each
// other, and their queue.
//
// An engine never calls another engine in the middle of a change of its own,
// and does not know which engines its change concerns. It posts an event, which
// PropagateChanges (dispatch/propagation.h) hands to these engines before the
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

// This agent no longer takes part in the job, which is not over.
struct LeftJob {
  std::string nspace;
  NodeId controller = kNoNode;
};

// A job, or the former parent of one, is no longer registered.
struct ReleasedJob {
  std::string nspace;
};

// Ranks of a job have ended or lost their connection (RankState), in the order
// of `ranks`.
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

// Keys of one rank were put, for the first time or again.
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

// It is known that no agent has the map of the job.
struct MapUnknown {
  std::string nspace;
};

// ------------------------------------------------------------------ groups ---

// A group was constructed at this agent without some of its participants.
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
// construct completed at this agent.
struct MemberFollowed {
  std::string name;
  std::vector<ProcId> participants;
  ProcId proc;
};

// --------------------------------------------------- events and debuggers ---

// An event must be raised. With `for_all`, the clients of all agents get the
// event; otherwise its range decides, and it is not persisted for a successor.
struct EventDue {
  EventRaised event;
  bool for_all = true;
};

// The state of local holds must be persisted. This event precedes the one that
// notifies other agents of that state.
struct HoldsRecorded {
  PersistRecord record;
};

// Processes of this node must be continued.
struct StopReleased {
  SignalLocal signal;
};

// ------------------------------------------------------------ process sets ---

// A reply to a client. It must follow the events posted before it, because a
// successor of this agent reads the records that they cause.
struct ReplyDue {
  ReplyClient reply;
};

// A set whose job is over has become known. The root raises the event of the
// set's end.
struct LateSetEnded {
  EventRaised event;
};

// The sets of a job that is unknown to this agent were dropped.
struct SetsDropped {
  std::string nspace;
};

// ----------------------------------------------- inputs that have to wait ---

// Messages that had to wait until the views of the tree converged.
struct MessagesReleased {
  std::vector<PeerMessage> messages;
};

// The second part of an input, which must not run before all engines know the
// events that its first part posted: a message for the job engine (never null),
// or an answer to a spawn.
struct JobMessageDue {
  std::shared_ptr<const PeerMessage> message;
};
struct SpawnReplyDue {
  SpawnReply reply;
};

// A push of input may be sent, because the previous push was answered.
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

// A queue of events, which leave it in the order in which they were posted.
// Used by one thread.
class CoreEvents {
 public:
  CoreEvents() { events_.reserve(kUsual); }

  template <typename Event>
  void Post(Event&& event) {
    events_.emplace_back(std::forward<Event>(event));
  }
  bool empty() const { return events_.empty(); }
  // Returns the event that was posted last; null if that event was taken
  // already or has another type. Valid until the next call of the queue.
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

  // The elements before `first_` have left the queue. Unlike a deque, a vector
  // allocates nothing for the events of most steps.
  std::vector<CoreEvent> events_;
  size_t first_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CORE_EVENT_H_
