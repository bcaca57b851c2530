// What the processes of a rank have used, as the kernel counts it.
#ifndef CANOPY_SERVER_SHIM_RANK_USAGE_H_
#define CANOPY_SERVER_SHIM_RANK_USAGE_H_

#include <algorithm>
#include <cstdint>

namespace canopy::process {

// With the descendants that they have waited for. The kernel counts the shim's
// own memory at the moment of the start too, so no peak is below a few MB.
struct RankUsage {
  uint64_t cpu_us = 0;      // user and system
  uint64_t peak_bytes = 0;  // resident, of the largest process

  void Add(const RankUsage& other) {
    cpu_us += other.cpu_us;
    peak_bytes = std::max(peak_bytes, other.peak_bytes);
  }
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_RANK_USAGE_H_
