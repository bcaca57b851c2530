// The resources that the processes of a rank have used, as the kernel counts
// them.
#ifndef CANOPY_SERVER_SHIM_RANK_USAGE_H_
#define CANOPY_SERVER_SHIM_RANK_USAGE_H_

#include <algorithm>
#include <cstdint>

namespace canopy::process {

// The usage includes descendants for which the processes have waited. The
// kernel also counts the shim's own memory at the time of the start, so every
// peak is at least a few MB.
struct RankUsage {
  uint64_t cpu_us = 0;      // user and system
  uint64_t peak_bytes = 0;  // resident memory of the largest process

  void Add(const RankUsage& other) {
    cpu_us += other.cpu_us;
    peak_bytes = std::max(peak_bytes, other.peak_bytes);
  }
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_RANK_USAGE_H_
