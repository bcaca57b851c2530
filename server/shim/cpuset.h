// CPU lists, hwloc list format.
#ifndef CANOPY_SERVER_SHIM_CPUSET_H_
#define CANOPY_SERVER_SHIM_CPUSET_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace canopy::process {

// CPU numbers above this are refused.
inline constexpr uint32_t kMaxCpu = 65535;

// A kernel affinity mask: bit i of the array is CPU i. As sched_setaffinity
// takes it, with 8 * size() bytes.
using CpuMask = std::vector<uint64_t>;

// Parses "0-3,8" (spaces are not allowed, order and overlap are). Nothing when
// it is malformed or empty.
std::optional<CpuMask> ParseCpuList(std::string_view list);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_CPUSET_H_
