// The version of this release, defined here only.
#ifndef CANOPY_COMMON_VERSION_H_
#define CANOPY_COMMON_VERSION_H_

namespace canopy {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace canopy

#endif  // CANOPY_COMMON_VERSION_H_
