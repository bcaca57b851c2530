// A member of the overlay whose links are streams of gRPC.
#ifndef CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_
#define CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_

#include <memory>

#include "common/event_loop.h"
#include "server/overlay/config.h"
#include "server/overlay/tree_overlay.h"
#include "server/ports/input_sink.h"

namespace canopy::overlay {

// Creates a member of the overlay that sends over gRPC. `loop` and `sink` must
// outlive it.
std::unique_ptr<TreeOverlay> MakeGrpcOverlay(EventLoop* loop, InputSink* sink,
                                             const OverlayConfig& config,
                                             OverlayEvents events);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_GRPC_OVERLAY_H_
