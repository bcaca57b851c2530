// How far the bytes of a TCP connection have gone, as the kernel counts them.
#ifndef CANOPY_SERVER_STOCK_STREAM_POSITION_H_
#define CANOPY_SERVER_STOCK_STREAM_POSITION_H_

#include <cstdint>

#include "common/status.h"

namespace canopy::stock {

struct StreamPosition {
  uint64_t read = 0;     // bytes that were read from this end
  uint64_t written = 0;  // bytes that this end's kernel has taken
};

// Nobody else reads or writes meanwhile. kErrNotSupported when the kernel does
// not count, kErrLostConnection when the connection was reset.
Result<StreamPosition> PositionOf(int fd);

}  // namespace canopy::stock

#endif  // CANOPY_SERVER_STOCK_STREAM_POSITION_H_
