#include "server/kubernetes/api/retry_pauses.h"

#include <algorithm>

namespace canopy::kubernetes {

RetryPauses::RetryPauses(int64_t first_ns, int64_t longest_ns)
    : first_ns_(first_ns),
      longest_ns_(longest_ns),
      random_(std::random_device()()) {}

int64_t RetryPauses::Next(std::optional<int64_t> requested) {
  pause_ns_ = std::clamp(pause_ns_ * 2, first_ns_, longest_ns_);
  std::uniform_int_distribution<int64_t> part(0, pause_ns_ / 2);
  const int64_t pause = pause_ns_ - part(random_);
  if (!requested) return pause;
  return pause + std::clamp<int64_t>(*requested, 0, kLongestRequestedNs);
}

}  // namespace canopy::kubernetes
