// The flags of a directive that determine whether it must be honoured.
#ifndef CANOPY_COMMON_REQUIRED_H_
#define CANOPY_COMMON_REQUIRED_H_

#include <cstdint>

namespace canopy {

inline constexpr uint32_t kInfoRequired = 1;  // PMIX_INFO_REQD
inline constexpr uint32_t kInfoRequiredProcessed =
    4;  // PMIX_INFO_REQD_PROCESSED

// Returns true if the next reader must honour the directive or reject the call.
// A layer that has honoured the directive marks it as processed.
constexpr bool MustHonour(uint32_t flags) {
  return (flags & kInfoRequired) != 0 && (flags & kInfoRequiredProcessed) == 0;
}

}  // namespace canopy

#endif  // CANOPY_COMMON_REQUIRED_H_
