#include "server/overlay/grpc_overlay.h"

#include <absl/time/time.h>

#include <utility>

#include "server/overlay/grpc_transport.h"

namespace canopy::overlay {
namespace {

GrpcTransport::Options TransportOptions(const OverlayConfig& config,
                                        const OverlayEvents& events) {
  GrpcTransport::Options options;
  options.security = config.security;
  options.detect = absl::Milliseconds(config.detect_ms);
  options.connect = options.detect / 2;
  options.alone = config.members.size() <= 1;
  options.driver = config.driver;
  options.log = events.warning;
  return options;
}

}  // namespace

std::unique_ptr<TreeOverlay> MakeGrpcOverlay(EventLoop* loop, InputSink* sink,
                                             const OverlayConfig& config,
                                             OverlayEvents events) {
  auto transport =
      std::make_unique<GrpcTransport>(loop, TransportOptions(config, events));
  return std::make_unique<TreeOverlay>(loop, sink, std::move(transport), config,
                                       std::move(events));
}

}  // namespace canopy::overlay
