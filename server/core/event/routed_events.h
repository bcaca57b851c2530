// Events that are sent only to agents whose clients have registered for them.
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
#include "server/core/step/client_id.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {

// Returns the agents with which agent `self` exchanges events: its children and
// its parent.
std::vector<NodeId> EventNeighbours(const Tree& tree, NodeId self);

// Keeps events in a cache of its own and forwards each event once to every
// neighbour that has an interest in it, now or later. An event without interest
// costs no message. Not synchronised.
class RoutedEvents {
 public:
  // `tree` must outlive this object.
  RoutedEvents(NodeId self, const Tree& tree) : self_(self), tree_(tree) {}

  // Returns the interest of this agent's clients. The caller calls Tell after a
  // change.
  Interest& interest() { return interest_; }
  // Sends changes of interest to the neighbours. `number` must be larger than
  // in any earlier call.
  void Tell(const StepContext& step, uint64_t number);

  // Accepts an event from the neighbour `from`, or one raised at this agent
  // (kNoNode). Returns null for a duplicate. Otherwise returns the kept event,
  // which the caller delivers to clients; the pointer is valid until the next
  // call.
  CachedEvent* Take(const StepContext& step, CachedEvent event, NodeId from);
  // Handles a change of a neighbour's interest. The caller calls Tell
  // afterwards.
  void OnInterest(const StepContext& step, NodeId src,
                  const EventMessage& message);

  void OnTreeChanged(const StepContext& step);
  // Called when the node has a new agent, which has none of its predecessor's
  // state. The caller calls Tell afterwards.
  void OnNodeRestarted(NodeId node);
  void OnClientGone(ClientId client) { cache_.OnClientGone(client); }
  void OnJobRemoved(const std::string& nspace) { cache_.OnJobOver(nspace); }
  std::deque<CachedEvent>& events() { return cache_.events(); }

 private:
  std::vector<NodeId> Neighbours() const {
    return EventNeighbours(tree_, self_);
  }
  void PassTo(const StepContext& step, NodeId node, CachedEvent* event) const;

  const NodeId self_;
  const Tree& tree_;
  Interest interest_;
  EventCache cache_;
  RecentEvents recent_{kRecentEvents};
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_ROUTED_EVENTS_H_
