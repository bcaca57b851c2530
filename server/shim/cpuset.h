// Parses CPU lists in hwloc's list format.
#ifndef CANOPY_SERVER_SHIM_CPUSET_H_
#define CANOPY_SERVER_SHIM_CPUSET_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace canopy::process {

// The largest CPU number that is accepted.
inline constexpr uint32_t kMaxCpu = 65535;

// A kernel affinity mask: bit i of the array is CPU i. sched_setaffinity takes
// the mask with 8 * size() bytes.
using CpuMask = std::vector<uint64_t>;

// Parses "0-3,8". Spaces are invalid; any order and overlaps are valid. Returns
// no value if the list is malformed or empty.
std::optional<CpuMask> ParseCpuList(std::string_view list);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_CPUSET_H_
