// Dials other members: the parent with growing pauses after failed attempts,
// and lost members, which may have returned, in turn.
#ifndef CANOPY_SERVER_OVERLAY_DIALER_H_
#define CANOPY_SERVER_OVERLAY_DIALER_H_

#include <cstdint>
#include <functional>
#include <map>
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
  // The result of a dial: `stream` is an authenticated stream to the node if
  // `end.ok()`, and otherwise null.
  using Done = std::function<void(NodeId node, const StreamEnd& end,
                                  const Welcome& welcome,
                                  std::shared_ptr<Stream> stream)>;

  // All pointers must outlive this object.
  Dialer(EventLoop* loop, Transport* transport, const OverlayConfig* config,
         const MembershipView* view, Done done)
      : loop_(loop),
        transport_(transport),
        config_(config),
        view_(view),
        done_(std::move(done)),
        pause_ms_(config->redial_min_ms) {}
  ~Dialer() { Stop(); }

  // Returns true while a dial is in progress.
  bool dialling() const { return handshake_ != nullptr; }
  // Returns true during a dial and during the pause after a failed dial.
  bool busy() const { return dialling() || pause_timer_ != 0; }

  // Dials a node; its address must be known and no dial may be in progress.
  void Dial(NodeId node, const ResumePoint& resume);
  // Aborts all dials in progress to other nodes, and all probes.
  void AbandonOthers(NodeId node);
  // Aborts the dial and the probes in progress, but not a pause.
  void Abandon();
  // Calls `retry` after a pause, unless a pause is in progress. Each pause is
  // twice as long as the one before, up to a limit.
  void Pause(std::function<void()> retry);
  // Makes the next pause a short one.
  void ResetPause() { pause_ms_ = config_->redial_min_ms; }

  // Calls `probe` after `ms` milliseconds, unless a call is already scheduled.
  void ProbeLater(uint32_t ms, std::function<void()> probe);
  // Returns the member to probe next. Successive calls return, in turn, each
  // member with a lower number than this member.
  NodeId NextToProbe() { return next_probe_++ % view_->self(); }
  // Dials a node whose address is known, beside other dials. Does nothing while
  // the node or kMaxProbes others are being probed.
  void Probe(NodeId node);

  // Aborts the dial and all timers.
  void Stop();

 private:
  // Maximum number of probes at one time. The probe of a host that is down
  // lasts for its whole time limit.
  static constexpr size_t kMaxProbes = 16;

  std::unique_ptr<ClientHandshake> Begin(NodeId node, const ResumePoint& resume,
                                         ClientHandshake::Done done);

  EventLoop* const loop_;
  Transport* const transport_;
  const OverlayConfig* const config_;
  const MembershipView* const view_;
  const Done done_;
  std::unique_ptr<ClientHandshake> handshake_;
  uint32_t pause_ms_;
  EventLoop::TimerId pause_timer_ = 0;
  std::map<NodeId, std::unique_ptr<ClientHandshake>> probes_;
  EventLoop::TimerId probe_timer_ = 0;
  NodeId next_probe_ = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_DIALER_H_
