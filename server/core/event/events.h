// Events (PMIx Standard, chapter "Event Notification"): subscriptions,
// visibility, and distribution to the agents of the receivers.
#ifndef CANOPY_SERVER_CORE_EVENT_EVENTS_H_
#define CANOPY_SERVER_CORE_EVENT_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/recent_events.h"
#include "server/core/data_range.h"
#include "server/core/engine.h"
#include "server/core/event/event_cache.h"
#include "server/core/event/event_info.h"
#include "server/core/event/event_journal.h"
#include "server/core/event/routed_events.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {

// Maximum number of bytes of infos in a client's event. A larger event is
// refused with kErrOutOfResource, because every agent keeps the infos.
inline constexpr size_t kMaxEventInfo = size_t{64} << 10;
// Maximum number of targets; a whole job counts as one.
inline constexpr size_t kMaxEventTargets = 4096;

// Maximum number of codes to which one client may subscribe; more are refused
// (kErrOutOfResource).
inline constexpr size_t kMaxEventCodes = 65536;

// An event visits every agent once, along the edges of the tree. Each agent
// delivers it to its own clients and keeps it for clients that register later.
// Events of clients are persisted, and a restarted agent gets the events that
// its neighbours keep. The clients of that agent may then receive an event
// twice, and recognise it by its identity. Lifecycle events (IsForItsCodeAlone)
// are sent only to agents with clients that have registered for them.
//
// Not synchronised. The references passed to the constructor outlive this
// object. Times are in nanoseconds.
class Events final : public Engine {
 public:
  Events(NodeId self, const Tree& tree, const JobTable& jobs);
  // `observer` is called once for each event that comes to this agent, whether
  // or not a client gets it, including events recovered from the journal.
  void set_observer(std::function<void(const EventMessage&)> observer) {
    observer_ = std::move(observer);
  }
  // Sets whether this agent has a journal.
  void set_persists(bool persists) override { journal_.set_enabled(persists); }

  void OnWanted(const StepContext& step, const EventsWanted& in);
  void OnUnwanted(const StepContext& step, const EventsUnwanted& in);
  // Raises the event of a client, which gets a reply, or of this agent (client
  // 0). A duplicate causes only the reply.
  void OnRaised(const StepContext& step, const EventRaised& in);
  // Raises an event of this agent for all clients that its range includes. The
  // event is persisted if its source is a process of this node. A duplicate has
  // no effect. The client and request of `in` are not used.
  void RaiseForAll(const StepContext& step, const EventRaised& in);
  // Raises an event that every agent raises for itself, because every agent
  // learns of its cause. Only local clients get the event. If the event has an
  // id, a duplicate has no effect, and the event is forwarded to a neighbour
  // that was restarted. The client and request of `in` are not used.
  void OnKnownEverywhere(const StepContext& step, const EventRaised& in);
  // Handles an event from a neighbour. Returns true if a new event was
  // delivered; false for duplicates, and for routed events although they are
  // delivered as well.
  bool OnMessage(const StepContext& step, NodeId src,
                 const EventMessage& message);
  // Records that the client's process was connected to this agent or its
  // predecessor before, so that it also gets events of jobs that have ended
  // since. Must be called before OnWanted.
  void OnReattached(ClientId client) { returned_.insert(client); }
  void OnClientGone(const StepContext& step, ClientId client) override;
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;
  // Sends the cached events to new neighbours.
  void OnTreeChanged(const StepContext& step) override;
  void Count(ResourceCounts* counts) const override {
    counts->listeners = num_listeners();
  }
  size_t num_listeners() const { return wanted_.size(); }
  // Called when the node has a new agent, which has no state of its
  // predecessor.
  void OnNodeRestarted(const StepContext& step, NodeId node) override;
  void OnJobRecovered(const StepContext& step, const JobRecovered& in) override;
  // Recovers an event from a record of the predecessor's journal.
  void Recover(const StepContext& step, const std::string& nspace,
               const PersistedRecord& record);

 private:
  struct Wanted {
    bool all = false;
    std::set<int> codes;
    bool Has(int code, bool by_code) const {
      return (all && !by_code) || codes.contains(code);
    }
  };
  uint64_t NextNumber(TimeNs now);
  int Check(const EventRaised& in) const;
  void Distribute(const StepContext& step, EventMessage message,
                  ClientId raised_by, bool persist);
  EventMessage MakeMessage(TimeNs now, const EventRaised& in);
  bool MaySee(const ProcId& receiver, const EventMessage& message) const;
  bool IsOfOtherUser(const ProcId& receiver, const EventMessage& message) const;
  void DeliverTo(const StepContext& step, ClientId client,
                 CachedEvent* event) const;
  void DeliverToAll(const StepContext& step, CachedEvent* event) const;
  void DeliverKept(const StepContext& step, ClientId client);
  void Deliver(const StepContext& step, CachedEvent event, bool keep);
  void Route(const StepContext& step, EventMessage message, NodeId from);
  void DropWanted(ClientId client);
  void TellInterest(const StepContext& step);
  void SendCached(const StepContext& step, NodeId to, bool has_own) const;
  void Flood(const StepContext& step, const EventMessage& message,
             NodeId except) const;
  bool IsNew(const EventMessage& message);
  std::vector<NodeId> Neighbours() const {
    return EventNeighbours(tree_, self_);
  }

  const NodeId self_;
  const Tree& tree_;
  const JobTable& jobs_;
  std::function<void(const EventMessage&)> observer_;
  std::map<ClientId, Wanted> wanted_;
  std::set<ClientId> returned_;
  EventCache cache_;
  RoutedEvents routed_;
  // The last events: those that every agent gets, and those that only some
  // agents get.
  RecentEvents recent_{kRecentEvents};
  RecentEvents recent_others_{kRecentEvents};
  EventJournal journal_;
  uint64_t arrivals_ = 0;
  uint64_t last_number_ = 0;
  std::set<NodeId> neighbours_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENTS_H_
