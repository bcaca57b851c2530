#include "server/scheduler/link.h"

#include <algorithm>
#include <utility>

#include "server/scheduler/contract/line.h"

namespace canopy::scheduler {
namespace {

constexpr int64_t kLongestPause = 20;  // as a multiple of the first pause
constexpr int64_t kCapabilitiesMs = 10'000;
constexpr int kMaxFeatures = 64;

}  // namespace

Link::Link(EventLoop* loop, ServiceClient* client, v1::Overlay overlay,
           std::string address, Log log, int64_t first_pause_ns)
    : loop_(loop),
      client_(client),
      overlay_(std::move(overlay)),
      address_(std::move(address)),
      log_(std::move(log)),
      first_pause_ns_(first_pause_ns) {}

Link::~Link() { Stop(); }

void Link::Stop() {
  stopped_ = true;
  up_ = false;
  if (const auto timer = std::exchange(timer_, 0); timer != 0) {
    loop_->CancelTimer(timer);
  }
}

void Link::Ask() {
  timer_ = 0;
  v1::GetCapabilitiesRequest request;
  *request.mutable_overlay() = overlay_;
  for (int i = 1; i < v1::AgentFeature_ARRAYSIZE; ++i) {
    request.add_agent_features(static_cast<v1::AgentFeature>(i));
  }
  client_->Send(
      request, kCapabilitiesMs,
      [this](const CallEnd& end, const auto& reply) { OnAnswer(end, reply); });
}

void Link::OnAnswer(const CallEnd& end,
                    const v1::GetCapabilitiesResponse& reply) {
  if (stopped_) return;
  if (!end.ok()) {
    return AskLater(end.unimplemented() ? "it does not serve HostModuleService"
                                        : end.message);
  }
  pause_ns_ = 0;
  up_ = true;
  said_ = false;
  capabilities_ = reply;
  if (capabilities_.features_size() > kMaxFeatures) {
    Warn("the scheduler lists more than " + std::to_string(kMaxFeatures) +
         " features; the rest is ignored");
    capabilities_.mutable_features()->Truncate(kMaxFeatures);
  }
  log_({core::LogLine::Level::kInfo, "the scheduler " + LineOf(reply.name()) +
                                         " " + LineOf(reply.version()) +
                                         " is at " + address_});
  for (const auto& up : ups_) up();
}

void Link::AskLater(const std::string& why) {
  up_ = false;
  why_ = LineOf(why);
  if (!std::exchange(said_, true)) Warn(WhyDown());
  pause_ns_ = std::clamp(pause_ns_ * 2, first_pause_ns_,
                         kLongestPause * first_pause_ns_);
  timer_ = loop_->AddTimer(pause_ns_, [this] { Ask(); });
}

bool Link::Has(v1::Feature feature) const {
  return up() && std::ranges::count(capabilities_.features(), feature) > 0;
}

// Requests the capabilities at once, because the connection may have been
// closed only because it was idle.
void Link::Refresh() {
  if (!up_ || client_->connected()) return;
  up_ = false;
  why_ = "its connection was closed";
  Ask();
}

std::string Link::WhyDown() const {
  const std::string where = "the scheduler at " + address_;
  return why_.empty() ? where + " has not answered yet"
                      : where + " does not answer: " + why_;
}

void Link::Lost(const std::string& why) {
  if (up_) AskLater(why);
}

bool Link::LostBy(const CallEnd& end) {
  if (up()) return false;
  Lost(end.message);
  return true;
}

void Link::Warn(const std::string& text) const {
  log_({core::LogLine::Level::kWarning, text});
}

}  // namespace canopy::scheduler
