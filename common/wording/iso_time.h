// Points in time as text.
#ifndef CANOPY_COMMON_WORDING_ISO_TIME_H_
#define CANOPY_COMMON_WORDING_ISO_TIME_H_

#include <chrono>
#include <string>

namespace canopy {

// Returns the local time with milliseconds and its difference from UTC, in the
// form of ISO 8601: "2026-11-29T12:29:08.123+01:00".
std::string IsoTime(std::chrono::system_clock::time_point time);

}  // namespace canopy

#endif  // CANOPY_COMMON_WORDING_ISO_TIME_H_
