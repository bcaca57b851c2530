// Events: subscriptions, visibility, and distribution to the agents of the
// receivers.
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
#include "server/core/event/event_cache.h"
#include "server/core/event/event_info.h"
#include "server/core/event/event_journal.h"
#include "server/core/event/routed_events.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/tree.h"

namespace canopy::core {

// Bytes of infos that an event of a client may have; more are refused
// (kErrOutOfResource), as every agent keeps them.
inline constexpr size_t kMaxEventInfo = size_t{64} << 10;
// And receivers that it may name; whole jobs count as one.
inline constexpr size_t kMaxEventTargets = 4096;

// Codes that one client may subscribe to; more are refused (kErrOutOfResource).
inline constexpr size_t kMaxEventCodes = 65536;

// An event goes to all agents once, along the edges of the tree; each delivers
// to its own clients and keeps it for those that ask later. What clients raise
// is persisted, and an agent that was restarted gets what its neighbours keep.
// Its clients then get again what they have had, and tell it by its identity.
// Lifecycle events (IsForItsCodeAlone) go only where they are wanted.
// Not synchronised.
class Events {
 public:
  Events(NodeId self, const Tree& tree, const JobTable& jobs);
  // Sees each event that comes here, once: also those of a predecessor's
  // journal, and whether or not a client wants it.
  void set_observer(std::function<void(const EventMessage&)> observer) {
    observer_ = std::move(observer);
  }
  // Whether there is a journal.
  void set_persists(bool persists) { journal_.set_enabled(persists); }

  void OnWanted(const EventsWanted& in, Actions* actions);
  void OnUnwanted(const EventsUnwanted& in, Actions* actions);
  // Raised by a client, or with client == 0 by this agent. What is known
  // already is answered, and nothing else.
  void OnRaised(TimeNs now, const EventRaised& in, Actions* actions);
  // Raised by this agent for all, and persisted when the source is a process of
  // this node; known already: nothing happens. The client and request of `in`
  // are not used.
  void RaiseForAll(TimeNs now, const EventRaised& in, Actions* actions);
  // Raised by each agent for itself, because each of them knows: only local
  // clients get it. The client and request of `in` are not used. Known already
  // by its id, if it has one: nothing happens; such a one is passed on to a
  // neighbour that was restarted.
  void OnKnownEverywhere(TimeNs now, const EventRaised& in, Actions* actions);
  // False when it is known already.
  bool OnMessage(NodeId src, const EventMessage& message, Actions* actions);
  // A process that was connected to this agent before, or to its predecessor:
  // it gets events of jobs that have ended meanwhile, too. OnWanted follows.
  void OnReattached(ClientId client) { returned_.insert(client); }
  void OnClientGone(ClientId client, Actions* actions);
  void OnJobRemoved(const std::string& nspace, Actions* actions);
  // Neighbours may be new: they receive the cached events.
  void OnTreeChanged(Actions* actions);
  size_t num_listeners() const { return wanted_.size(); }
  // What its former agent knew is lost.
  void OnNodeRestarted(NodeId node, Actions* actions);
  // A record of a predecessor's journal.
  void Recover(const std::string& nspace, const PersistedRecord& record,
               Actions* actions);

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
  void Distribute(EventMessage message, ClientId raised_by, bool persist,
                  Actions* actions);
  EventMessage MakeMessage(TimeNs now, const EventRaised& in);
  bool MaySee(const ProcId& receiver, const EventMessage& message) const;
  void DeliverTo(ClientId client, CachedEvent* event, Actions* actions) const;
  void DeliverToAll(CachedEvent* event, Actions* actions) const;
  void DeliverKept(ClientId client, Actions* actions);
  void Deliver(CachedEvent event, bool keep, Actions* actions);
  void Route(EventMessage message, NodeId from, Actions* actions);
  void DropWanted(ClientId client);
  void TellInterest(Actions* actions);
  void SendCached(NodeId to, bool has_own, Actions* actions) const;
  void Flood(const EventMessage& message, NodeId except,
             Actions* actions) const;
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
  // Of those that go to every agent, and of others.
  RecentEvents recent_{kRecentEvents};
  RecentEvents recent_others_{kRecentEvents};
  EventJournal journal_;
  uint64_t arrivals_ = 0;
  uint64_t last_number_ = 0;
  std::set<NodeId> neighbours_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_EVENTS_H_
