#include "server/core/event/routed_events.h"

#include <utility>

namespace canopy::core {

std::vector<NodeId> EventNeighbours(const Tree& tree, NodeId self) {
  std::vector<NodeId> out = tree.children(self);
  const NodeId parent = tree.parent(self);
  if (parent != kNoNode) out.push_back(parent);
  return out;
}

void RoutedEvents::Tell(const StepContext& step, uint64_t number) {
  for (const auto& [node, codes] : interest_.TakeNews(Neighbours())) {
    step.out.push_back(SendPeer{
        PeerMessage{self_, node, Interest::Encode(self_, number, codes)}});
  }
}

CachedEvent* RoutedEvents::Take(const StepContext& step, CachedEvent event,
                                NodeId from) {
  const EventId id = IdOf(event.message);
  if (cache_.Knows(id) || !recent_.Note(id)) return nullptr;
  if (from != kNoNode) event.passed.insert(from);
  for (const NodeId node : Neighbours()) PassTo(step, node, &event);
  return &cache_.Add(std::move(event));
}

void RoutedEvents::PassTo(const StepContext& step, NodeId node,
                          CachedEvent* event) const {
  const uint32_t bit = LifecycleBit(event->message.status);
  if ((interest_.Of(node) & bit) == 0) return;
  if (!event->passed.insert(node).second) return;
  step.out.push_back(SendPeer{PeerMessage{self_, node, event->message}});
}

// A neighbour with an interest in further codes gets the kept events with these
// codes.
void RoutedEvents::OnInterest(const StepContext& step, NodeId src,
                              const EventMessage& message) {
  if (interest_.Take(src, message) == 0) return;
  for (CachedEvent& event : cache_.events()) PassTo(step, src, &event);
}

// A new neighbour may have reported its interest before it became one. It gets
// the kept events now.
void RoutedEvents::OnTreeChanged(const StepContext& step) {
  interest_.ForgetLost(tree_);
  for (CachedEvent& event : cache_.events()) {
    std::erase_if(event.passed,
                  [&](NodeId node) { return !tree_.alive(node); });
    for (const NodeId node : Neighbours()) PassTo(step, node, &event);
  }
}

void RoutedEvents::OnNodeRestarted(NodeId node) {
  interest_.Forget(node);
  for (CachedEvent& event : cache_.events()) event.passed.erase(node);
}

}  // namespace canopy::core
