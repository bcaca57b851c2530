#include "server/net/line_allowance.h"

#include <algorithm>

#include "common/time_units.h"

namespace canopy::net {

bool LineAllowance::Take(int64_t now) {
  const int64_t seconds = (now - since_) / kNsPerSecond;
  since_ += seconds * kNsPerSecond;
  lines_ = std::min(rate_.burst, lines_ + seconds * rate_.per_second);
  if (lines_ == 0) return false;
  --lines_;
  return true;
}

bool LineAllowance::IsFull(int64_t now) const {
  const int64_t seconds = (now - since_) / kNsPerSecond;
  return lines_ + seconds * rate_.per_second >= rate_.burst;
}

}  // namespace canopy::net
