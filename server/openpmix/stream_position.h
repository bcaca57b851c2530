// Stream positions of a TCP connection, as counted by the kernel.
#ifndef CANOPY_SERVER_OPENPMIX_STREAM_POSITION_H_
#define CANOPY_SERVER_OPENPMIX_STREAM_POSITION_H_

#include <cstdint>

#include "common/status.h"

namespace canopy::openpmix {

struct StreamPosition {
  uint64_t read = 0;     // bytes that were read from this end
  uint64_t written = 0;  // bytes that this end's kernel has accepted
};

// Returns the position of a connected socket. No other process may read or
// write during the call. Returns kErrNotSupported if the kernel does not count,
// and kErrLostConnection if the connection was reset.
Result<StreamPosition> PositionOf(int fd);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_STREAM_POSITION_H_
