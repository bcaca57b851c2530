// A clock for the detection of work that takes long.
#ifndef CANOPY_SERVER_PORTS_COARSE_CLOCK_H_
#define CANOPY_SERVER_PORTS_COARSE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace canopy {

// Returns milliseconds of a monotonic clock that advances every few
// milliseconds. A call takes a few nanoseconds.
inline int64_t CoarseMs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_COARSE_CLOCK_H_
