#include "server/agent/recovery/handover.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace canopy::agent {
namespace {

constexpr int64_t kMillisecond = 1000 * 1000;
// The time limit for connections to identify themselves.
constexpr int64_t kIdentifyNs = 1000 * kMillisecond;

}  // namespace

const char* NameOf(HandoverStage stage) {
  switch (stage) {
    case HandoverStage::kNone:
      return "none";
    case HandoverStage::kAnnounce:
      return "announce";
    case HandoverStage::kIdentify:
      return "identify";
    case HandoverStage::kReadClients:
      return "read-clients";
    case HandoverStage::kDrain:
      return "drain";
    case HandoverStage::kFlushReplies:
      return "flush-replies";
    case HandoverStage::kExecute:
      return "execute";
  }
  return "unknown";
}

Handover::Handover(EventLoop* loop, HandoverActions* actions)
    : loop_(loop), actions_(actions) {}

void Handover::Enter(HandoverStage stage) {
  stage_ = stage;
  spdlog::debug("handover: {}", NameOf(stage));
}

void Handover::Begin(std::string program, std::string current) {
  if (stage_ != HandoverStage::kNone) return;
  program_ = std::move(program);
  current_ = std::move(current);
  spdlog::info("making way for {}", program_);
  Announce(kDowntimeMs);
}

void Handover::BeginExit(uint32_t downtime_ms) {
  if (stage_ != HandoverStage::kNone) return;
  spdlog::info("making way for a successor within {} ms", downtime_ms);
  Announce(downtime_ms);
}

void Handover::Announce(uint32_t downtime_ms) {
  Enter(HandoverStage::kAnnounce);
  actions_->Announce(downtime_ms);
  identify_until_ = EventLoop::Now() + kIdentifyNs;
  // The other stages are deferred to the end of the round, because this call
  // may be made within a call of the control service, which must return first.
  actions_->AnnounceToNeighbours(downtime_ms, [this] {
    loop_->Defer([this] {
      Enter(HandoverStage::kIdentify);
      Identify();
    });
  });
}

// Waits, for a limited time, until all connections have identified themselves:
// a successor cannot read a greeting of which this agent has read a part.
void Handover::Identify() {
  if (actions_->AllIdentified() || EventLoop::Now() >= identify_until_) {
    return Finish();
  }
  loop_->AddTimer(kMillisecond, [this] { Identify(); });
}

void Handover::Finish() {
  Enter(HandoverStage::kReadClients);
  actions_->ReadClients();
  Enter(HandoverStage::kDrain);
  actions_->Drain();
  Enter(HandoverStage::kFlushReplies);
  actions_->FlushReplies();
  Enter(HandoverStage::kExecute);
  if (program_.empty()) return actions_->Exit();
  actions_->Execute(program_);
  actions_->Execute(current_);
  actions_->Fail();
}

}  // namespace canopy::agent
