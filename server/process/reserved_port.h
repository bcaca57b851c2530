// Reserves a TCP port of this node temporarily.
#ifndef CANOPY_SERVER_PROCESS_RESERVED_PORT_H_
#define CANOPY_SERVER_PROCESS_RESERVED_PORT_H_

#include <cstdint>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::process {

// The port is bound, but no process listens on it. Its user binds it after
// Release. Not thread-safe.
class ReservedPort {
 public:
  // Reserves a port on all addresses of the node, including IPv6 if available.
  // Returns kErrOutOfResource if no port is free.
  Status Reserve();
  void Release() { socket_.Reset(); }
  // Returns the port. It is 0 before Reserve and remains valid after Release.
  uint16_t number() const { return number_; }

 private:
  UniqueFd socket_;
  uint16_t number_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_RESERVED_PORT_H_
