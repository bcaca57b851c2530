// Dialling other members: one at a time, with growing pauses between failed
// attempts.
#ifndef CANOPY_SERVER_OVERLAY_DIALER_H_
#define CANOPY_SERVER_OVERLAY_DIALER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "common/event_loop.h"
#include "common/ids.h"
#include "server/overlay/config.h"
#include "server/overlay/link_handshake.h"
#include "server/overlay/membership_view.h"
#include "server/overlay/stream.h"

namespace canopy::overlay {

// Loop thread only.
class Dialer {
 public:
  // `stream` is a link with the node when `end.ok()`.
  using Done = std::function<void(NodeId node, const StreamEnd& end,
                                  const Welcome& welcome,
                                  std::shared_ptr<Stream> stream)>;

  // All pointers must outlive it.
  Dialer(EventLoop* loop, Transport* transport, const OverlayConfig* config,
         const MembershipView* view, Done done)
      : loop_(loop),
        transport_(transport),
        config_(config),
        view_(view),
        done_(std::move(done)),
        pause_ms_(config->redial_min_ms) {}
  ~Dialer() { Stop(); }

  // A dial is under way.
  bool dialling() const { return handshake_ != nullptr; }
  // That, or the pause after one that failed.
  bool busy() const { return dialling() || pause_timer_ != 0; }

  // Only when not dialling, and for a node whose address is known.
  void Dial(NodeId node, const ResumePoint& resume);
  // Abandons a dial to any other node.
  void AbandonOthers(NodeId node);
  // Abandons every dial, but not the pause.
  void Abandon() { handshake_.reset(); }
  // Calls `retry` after a pause, twice as long as the one before, unless there
  // is a pause already.
  void Pause(std::function<void()> retry);
  // The next pause is a short one.
  void ResetPause() { pause_ms_ = config_->redial_min_ms; }

  // Calls `probe` after the grace period, unless that was asked for already.
  void ProbeLater(std::function<void()> probe);
  // Which of the earlier members to probe next: each in turn.
  NodeId NextToProbe() { return next_probe_++ % view_->self(); }

  // Abandons everything.
  void Stop();

 private:
  EventLoop* const loop_;
  Transport* const transport_;
  const OverlayConfig* const config_;
  const MembershipView* const view_;
  const Done done_;
  std::unique_ptr<ClientHandshake> handshake_;
  uint32_t pause_ms_;
  EventLoop::TimerId pause_timer_ = 0;
  EventLoop::TimerId probe_timer_ = 0;
  NodeId next_probe_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_DIALER_H_
