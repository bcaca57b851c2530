// The flags of a directive that say who has to honour it.
#ifndef CANOPY_COMMON_REQUIRED_H_
#define CANOPY_COMMON_REQUIRED_H_

#include <cstdint>

namespace canopy {

inline constexpr uint32_t kInfoRequired = 1;  // PMIX_INFO_REQD
inline constexpr uint32_t kInfoRequiredProcessed =
    4;  // PMIX_INFO_REQD_PROCESSED

// Whether whoever reads the directive next has to honour it or to refuse the
// call. One that a layer below has honoured has been marked there.
constexpr bool MustHonour(uint32_t flags) {
  return (flags & kInfoRequired) != 0 && (flags & kInfoRequiredProcessed) == 0;
}

}  // namespace canopy

#endif  // CANOPY_COMMON_REQUIRED_H_
