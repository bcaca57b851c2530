#include "server/shim/agent_reports.h"

#include <utility>

namespace canopy::process {

void AgentReports::Resume() {
  flowing_ = true;
  exits_.clear();
  ScheduleInput();
}

void AgentReports::AddExit(const ExitedRank& exit) {
  exits_.push_back(exit);
  if (std::exchange(exits_scheduled_, true)) return;
  loop_->Defer([this] { FlushExits(); });
}

void AgentReports::FlushExits() {
  exits_scheduled_ = false;
  if (flowing_ && !exits_.empty()) send_(FrameType::kExits, Encode(exits_));
  exits_.clear();
}

void AgentReports::AddInputDone(uint64_t bytes) {
  input_done_ += bytes;
  ScheduleInput();
}

void AgentReports::ScheduleInput() {
  if (!flowing_ || input_done_ == input_reported_ ||
      std::exchange(input_scheduled_, true)) {
    return;
  }
  loop_->Defer([this] {
    input_scheduled_ = false;
    if (!flowing_) return;
    const uint64_t before = std::exchange(input_reported_, input_done_);
    send_(FrameType::kInputDone, EncodeBytes(input_done_ - before));
  });
}

}  // namespace canopy::process
