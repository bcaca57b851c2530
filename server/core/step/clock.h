// Time as an input of the core.
#ifndef CANOPY_SERVER_CORE_STEP_CLOCK_H_
#define CANOPY_SERVER_CORE_STEP_CLOCK_H_

#include <cstdint>

namespace canopy::core {

// Nanoseconds of a monotonic clock. The core never reads a clock itself.
using TimeNs = int64_t;
inline constexpr TimeNs kNever = INT64_MAX;

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CLOCK_H_
