// Private to TreeOverlay: one neighbour in the tree, linked or expected.
#ifndef CANOPY_SERVER_OVERLAY_NEIGHBOR_H_
#define CANOPY_SERVER_OVERLAY_NEIGHBOR_H_

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "server/overlay/tree_overlay.h"

namespace canopy::overlay {

struct TreeOverlay::Neighbor : public StreamListener,
                               public std::enable_shared_from_this<Neighbor> {
  Neighbor(TreeOverlay* o, NodeId i) : owner(o), id(i) {}

  void OnFrame(Bytes frame) override {
    owner->OnFrame(shared_from_this(), frame);
  }
  void OnWritable() override { owner->Flush(shared_from_this(), false); }
  void OnEnd(const StreamEnd& end) override {
    owner->OnLinkEnd(shared_from_this(), end);
  }

  TreeOverlay* const owner;
  const NodeId id;
  uint64_t incarnation = 0;  // of the peer of `link`; 0: never linked
  Link link;
  std::shared_ptr<Stream> stream;  // null: not linked just now
  std::set<NodeId> dirty;          // members whose state it must be sent
  bool retiring = false;  // not the parent any more: end it when drained
  bool flush_scheduled = false;
  uint32_t planned_downtime_ms = 0;  // as announced for its handover
  std::string last_error;
  EventLoop::TimerId reconnect_timer = 0;  // declares it lost unless it links
  EventLoop::TimerId ack_timer = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_NEIGHBOR_H_
