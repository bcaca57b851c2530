// Units of time as numbers of smaller units.
#ifndef CANOPY_COMMON_TIME_UNITS_H_
#define CANOPY_COMMON_TIME_UNITS_H_

#include <cstdint>

namespace canopy {

inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerSecond = 1'000'000'000;
inline constexpr uint32_t kMsPerSecond = 1000;

}  // namespace canopy

#endif  // CANOPY_COMMON_TIME_UNITS_H_
