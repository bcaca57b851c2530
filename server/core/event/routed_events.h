// Events that go only to agents whose clients want them.
#ifndef CANOPY_SERVER_CORE_EVENT_ROUTED_EVENTS_H_
#define CANOPY_SERVER_CORE_EVENT_ROUTED_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/recent_events.h"
#include "server/core/event/event_cache.h"
#include "server/core/event/interest.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/tree.h"

namespace canopy::core {

// Those that exchange events with the agent: its children and its parent.
std::vector<NodeId> EventNeighbours(const Tree& tree, NodeId self);

// Keeps what comes, with bounds of its own, and passes it on when a neighbour
// wants it, now or later, once to each. Nobody wants it: no message. Not
// synchronised.
class RoutedEvents {
 public:
  // `tree` outlives it.
  RoutedEvents(NodeId self, const Tree& tree) : self_(self), tree_(tree) {}

  // What the clients here want; Tell follows when all of a change is known.
  Interest& interest() { return interest_; }
  // `number`: larger than in any call before.
  void Tell(uint64_t number, Actions* actions);

  // From a neighbour, or kNoNode: raised here. Null when it is known already;
  // else the event as kept, for the clients here: valid until the next call.
  CachedEvent* Take(CachedEvent event, NodeId from, Actions* actions);
  // What a neighbour wants; Tell follows.
  void OnInterest(NodeId src, const EventMessage& message, Actions* actions);

  void OnTreeChanged(Actions* actions);
  // Tell follows.
  void OnNodeRestarted(NodeId node);
  void OnClientGone(ClientId client) { cache_.OnClientGone(client); }
  void OnJobRemoved(const std::string& nspace) { cache_.OnJobOver(nspace); }
  std::deque<CachedEvent>& events() { return cache_.events(); }

 private:
  std::vector<NodeId> Neighbours() const {
    return EventNeighbours(tree_, self_);
  }
  void PassTo(NodeId node, CachedEvent* event, Actions* actions) const;

  const NodeId self_;
  const Tree& tree_;
  Interest interest_;
  EventCache cache_;
  RecentEvents recent_{kRecentEvents};
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_ROUTED_EVENTS_H_
