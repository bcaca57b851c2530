#include "server/overlay/dialer.h"

#include <algorithm>
#include <utility>

#include "common/time_units.h"

namespace canopy::overlay {

std::unique_ptr<ClientHandshake> Dialer::Begin(NodeId node,
                                               const ResumePoint& resume,
                                               ClientHandshake::Done done) {
  return std::make_unique<ClientHandshake>(
      loop_, &view_->identity(), transport_->Dial(view_->address(node)), node,
      view_->name(node), resume, int64_t{config_->detect_ms} * kNsPerMs,
      std::move(done));
}

void Dialer::Dial(NodeId node, const ResumePoint& resume) {
  handshake_ = Begin(node, resume,
                     [this, node](const StreamEnd& end, const Welcome& welcome,
                                  std::shared_ptr<Stream> stream) {
                       const auto ended = std::move(handshake_);
                       done_(node, end, welcome, std::move(stream));
                     });
}

void Dialer::Probe(NodeId node) {
  if (probes_.contains(node) || probes_.size() >= kMaxProbes) return;
  probes_[node] =
      Begin(node, ResumePoint(),
            [this, node](const StreamEnd& end, const Welcome& welcome,
                         std::shared_ptr<Stream> stream) {
              const auto ended = probes_.extract(node);
              done_(node, end, welcome, std::move(stream));
            });
}

void Dialer::Abandon() {
  handshake_.reset();
  probes_.clear();
}

void Dialer::AbandonOthers(NodeId node) {
  if (handshake_ != nullptr && handshake_->expected() != node) {
    handshake_.reset();
  }
  probes_.clear();
}

void Dialer::Pause(std::function<void()> retry) {
  if (pause_timer_ != 0) return;
  pause_timer_ = loop_->AddTimer(int64_t{pause_ms_} * kNsPerMs,
                                 [this, retry = std::move(retry)] {
                                   pause_timer_ = 0;
                                   retry();
                                 });
  pause_ms_ = std::min(pause_ms_ * 2, config_->redial_max_ms);
}

void Dialer::ProbeLater(uint32_t ms, std::function<void()> probe) {
  if (probe_timer_ != 0) return;
  probe_timer_ =
      loop_->AddTimer(int64_t{ms} * kNsPerMs, [this, probe = std::move(probe)] {
        probe_timer_ = 0;
        probe();
      });
}

void Dialer::Stop() {
  Abandon();
  for (EventLoop::TimerId* timer : {&pause_timer_, &probe_timer_}) {
    if (*timer != 0) loop_->CancelTimer(std::exchange(*timer, 0));
  }
}

}  // namespace canopy::overlay
