// Versions of the overlay's protocol, which Hello and Welcome compare
// (docs/wire_protocol.md, "Versions of the overlay's protocol").
#ifndef CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_
#define CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_

#include <cstdint>

namespace canopy::overlay {

// The newest and the oldest protocol version that this agent speaks.
inline constexpr uint32_t kNewestVersion = 6;
inline constexpr uint32_t kOldestVersion = 6;

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_COMPATIBILITY_H_
