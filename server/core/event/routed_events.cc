#include "server/core/event/routed_events.h"

#include <utility>

namespace canopy::core {

std::vector<NodeId> EventNeighbours(const Tree& tree, NodeId self) {
  std::vector<NodeId> out = tree.children(self);
  const NodeId parent = tree.parent(self);
  if (parent != kNoNode) out.push_back(parent);
  return out;
}

void RoutedEvents::Tell(uint64_t number, Actions* actions) {
  for (const auto& [node, codes] : interest_.TakeNews(Neighbours())) {
    actions->push_back(SendPeer{
        PeerMessage{self_, node, Interest::Encode(self_, number, codes)}});
  }
}

CachedEvent* RoutedEvents::Take(CachedEvent event, NodeId from,
                                Actions* actions) {
  const EventId id = IdOf(event.message);
  if (cache_.Knows(id) || !recent_.Note(id)) return nullptr;
  if (from != kNoNode) event.passed.insert(from);
  for (const NodeId node : Neighbours()) PassTo(node, &event, actions);
  return &cache_.Add(std::move(event));
}

void RoutedEvents::PassTo(NodeId node, CachedEvent* event,
                          Actions* actions) const {
  const uint32_t bit = LifecycleBit(event->message.status);
  if ((interest_.Of(node) & bit) == 0) return;
  if (!event->passed.insert(node).second) return;
  actions->push_back(SendPeer{PeerMessage{self_, node, event->message}});
}

// A neighbour with an interest in further codes gets the kept events with these
// codes.
void RoutedEvents::OnInterest(NodeId src, const EventMessage& message,
                              Actions* actions) {
  if (interest_.Take(src, message) == 0) return;
  for (CachedEvent& event : cache_.events()) PassTo(src, &event, actions);
}

// A new neighbour may have reported its interest before it became one.
void RoutedEvents::OnTreeChanged(Actions* actions) {
  interest_.ForgetLost(tree_);
  for (CachedEvent& event : cache_.events()) {
    std::erase_if(event.passed,
                  [&](NodeId node) { return !tree_.alive(node); });
    for (const NodeId node : Neighbours()) PassTo(node, &event, actions);
  }
}

void RoutedEvents::OnNodeRestarted(NodeId node) {
  interest_.Forget(node);
  for (CachedEvent& event : cache_.events()) event.passed.erase(node);
}

}  // namespace canopy::core
