#include "server/process/output_credit.h"

#include <algorithm>
#include <utility>

#include "server/shim/protocol.h"

namespace canopy::process {
namespace {

// Shims of other versions may have other limits.
constexpr uint64_t kTolerance = 2;

}  // namespace

// The output after the position is reported again.
void OutputCredit::SetPosition(uint64_t acknowledged) {
  chunks_.clear();
  if (std::exchange(position_known_, true)) return;
  granted_ = acknowledged;
  total_ = std::max(total_, acknowledged + early_);
}

void OutputCredit::Add(const core::CreditOutput& credit) {
  if (credit.total != 0) {
    total_ = std::max(total_, credit.total);
  } else if (position_known_) {
    total_ += credit.bytes;
  } else {
    early_ += credit.bytes;
  }
}

uint64_t OutputCredit::Take() {
  if (!position_known_ || total_ <= granted_) return 0;
  const uint64_t granted = total_ - std::exchange(granted_, total_);
  DropGranted();
  return granted;
}

void OutputCredit::DropGranted() {
  while (!chunks_.empty() && chunks_.front() <= granted_) chunks_.pop_front();
}

bool OutputCredit::OnReport(uint64_t begin, uint64_t end) {
  if (begin == end) return ends_left_ > 0 && ends_left_-- > 0;
  if (!position_known_) return true;
  chunks_.push_back(end);
  DropGranted();
  return chunks_.size() <= kTolerance * kMaxOutputChunks &&
         end <= granted_ + kTolerance * window_;
}

}  // namespace canopy::process
