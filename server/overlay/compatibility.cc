#include "server/overlay/compatibility.h"

#include <variant>

namespace canopy::overlay {
namespace {

constexpr uint32_t kRestarts = 2;
constexpr uint32_t kControllerRestarts = 3;
constexpr uint32_t kInputPositions = 4;
constexpr uint32_t kAllTold = 5;

void ForgetInputPositions(core::MessageBody* body) {
  if (auto* input = std::get_if<core::InputData>(body)) input->end = 0;
  if (auto* credit = std::get_if<core::InputCredit>(body)) {
    credit->total = 0;
    credit->resend = false;
  }
}

}  // namespace

void RemoveNewerFields(uint32_t version, Frame* frame) {
  if (version >= kRestarts) return;
  frame->planned_downtime_ms = 0;
  if (frame->hello.has_value()) frame->hello->recovered = false;
  if (frame->welcome.has_value()) frame->welcome->recovered = false;
  if (!frame->members.has_value()) return;
  for (MemberState& member : frame->members->changes) member.recovered = false;
}

void RemoveNewerFields(uint32_t version, core::MessageBody* body) {
  if (version >= kAllTold) return;
  if (auto* forget = std::get_if<core::JobForget>(body)) {
    forget->sync_complete = false;
  }
  if (version >= kInputPositions) return;
  ForgetInputPositions(body);
  if (version >= kControllerRestarts) return;
  auto* const credit = std::get_if<core::OutputCredit>(body);
  if (credit != nullptr) credit->resend = false;
  if (version >= kRestarts) return;
  if (credit != nullptr) credit->total = 0;
  if (auto* output = std::get_if<core::OutputData>(body)) output->end = 0;
}

}  // namespace canopy::overlay
