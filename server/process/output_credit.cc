#include "server/process/output_credit.h"

#include <algorithm>
#include <utility>

namespace canopy::process {

void OutputCredit::SetPosition(uint64_t acknowledged) {
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
  return total_ - std::exchange(granted_, total_);
}

}  // namespace canopy::process
