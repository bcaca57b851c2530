#include "server/agent/wiring/overlay_adapter.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "server/agent/bring_up/log.h"
#include "server/agent/bring_up/settings.h"
#include "server/overlay/grpc_overlay.h"

namespace canopy::agent {

OverlayAdapter::OverlayAdapter(EventLoop* loop, InputSink* sink,
                               const bootstrap::v1::Config& config,
                               Listener listener)
    : loop_(loop),
      sink_(sink),
      config_(config),
      listener_(std::move(listener)),
      alone_(config.embedded() && config.member_names_size() <= 1) {}

OverlayAdapter::~OverlayAdapter() {
  if (overlay_) overlay_->Stop();
}

Status OverlayAdapter::Listen(bool recovered) {
  return alone() ? Status() : Link(ListenAddress(config_), recovered);
}

Status OverlayAdapter::Open(const std::string& listen) {
  if (!alone()) return Status();
  bootstrap::v1::Config config;
  config.set_listen(listen);
  const Status status = Link(ListenAddress(config), /*recovered=*/false);
  if (!status.ok()) {
    overlay_.reset();
    return status;
  }
  alone_ = false;
  overlay_->Join();
  return status;
}

Status OverlayAdapter::Link(const std::string& listen, bool recovered) {
  Result<security::SecurityConfig> security = MakeSecurity(config_);
  if (!security.ok()) return security.status();
  security_ = *std::move(security);
  overlay_ = overlay::MakeGrpcOverlay(
      loop_, sink_, MakeConfig(listen, recovered), MakeEvents());
  return overlay_->Listen();
}

overlay::OverlayConfig OverlayAdapter::MakeConfig(const std::string& listen,
                                                  bool recovered) const {
  overlay::OverlayConfig config;
  config.self = config_.self();
  for (const std::string& name : config_.member_names()) {
    config.members.push_back({name, ""});
  }
  config.radix = config_.radix();
  config.listen = listen;
  config.overlay_id = config_.overlay_id();
  config.security = security_;
  // A link is broken after detect_ms of silence. If the member does not
  // reconnect within grace_ms, it is lost: after LossMs in total, unless the
  // configuration sets a longer restart grace.
  config.detect_ms = LossMs(config_) - LossMs(config_) / 5 * 2;
  config.grace_ms = GraceMs(config_);
  config.recovered = recovered;
  config.predecessor = config_.predecessor();
  return config;
}

overlay::OverlayEvents OverlayAdapter::MakeEvents() {
  overlay::OverlayEvents events;
  events.link_error = [this](NodeId node, const Status& status) {
    Log({core::LogLine::Level::kWarning,
         "link to " + listener_.node_name(node) + ": " + status.message()});
  };
  events.ready = [this] { ready_(); };
  events.reachability = listener_.reachability;
  events.record = listener_.record;
  events.description = listener_.description;
  events.removed = listener_.removed;
  events.expelled = [](const std::string& reason) {
    Log({core::LogLine::Level::kWarning,
         "the others counted this agent as lost (" + reason +
             "); joining again"});
  };
  events.warning = [](const std::string& line) {
    spdlog::warn("links: {}", line);
  };
  return events;
}

void OverlayAdapter::Describe(const bootstrap::v1::NodeInfo& info) {
  if (overlay_) overlay_->Describe(info.SerializeAsString());
}

void OverlayAdapter::SetAddress(NodeId node, const std::string& address) {
  if (overlay_) overlay_->SetAddress(node, address);
}

void OverlayAdapter::Join(const bootstrap::v1::Members& members,
                          std::function<void()> ready) {
  ready_ = std::move(ready);
  if (!overlay_) return loop_->Post(ready_);
  for (int i = 0; i < members.nodes_size(); ++i) {
    overlay_->SetAddress(static_cast<NodeId>(i), members.nodes(i).address());
  }
  Result<overlay::Members> known = overlay::DecodeMembers(members.known());
  if (!known.ok()) {
    Log({core::LogLine::Level::kError,
         "the list of the overlay's members is malformed"});
  }
  overlay_->Join(known.ok() ? *std::move(known) : overlay::Members());
}

Status OverlayAdapter::Decide(overlay::MemberRecord record) {
  if (overlay_) return overlay_->Decide(std::move(record));
  listener_.record(record);
  return Status();
}

std::string OverlayAdapter::Known(bool states) const {
  if (!overlay_) return "";
  overlay::Members known = overlay_->Known();
  if (!states) known.changes.clear();
  return overlay::EncodeMembers(known);
}

void OverlayAdapter::Leave(std::function<void()> left) {
  if (!overlay_) return left();
  overlay_->Leave(std::move(left));
}

void OverlayAdapter::AnnounceHandover(uint32_t downtime_ms,
                                      std::function<void()> announced) {
  if (!overlay_) return announced();
  overlay_->AnnounceHandover(downtime_ms, std::move(announced));
}

void OverlayAdapter::LogDriver() const {
  if (overlay_) spdlog::info("links are served {}", overlay_->driver());
}

uint64_t OverlayAdapter::incarnation() const {
  return overlay_ ? overlay_->incarnation() : 0;
}

std::string OverlayAdapter::address() const {
  return overlay_ ? overlay_->address() : "";
}

std::optional<int64_t> OverlayAdapter::TimeToLoss(NodeId node) const {
  return overlay_ ? overlay_->TimeToLoss(node) : std::nullopt;
}

std::string OverlayAdapter::WhyAway(NodeId node) const {
  const NodeId gap = overlay_ ? overlay_->GapTowards(node) : kNoNode;
  if (gap == kNoNode) return "";
  if (gap == node) return "its agent does not answer";
  return "the agent of " + listener_.node_name(gap) +
         ", through which it is reached, does not answer";
}

bool OverlayAdapter::linked() const {
  return !overlay_ || overlay_->table().num_kept() <= 1 ||
         overlay_->members_up() > 1;
}

}  // namespace canopy::agent
