// A TCP port of this node that nobody else gets for the time being.
#ifndef CANOPY_SERVER_PROCESS_RESERVED_PORT_H_
#define CANOPY_SERVER_PROCESS_RESERVED_PORT_H_

#include <cstdint>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::process {

// The port is bound, not listened on. Whoever it is meant for binds it after
// Release. Not synchronised.
class ReservedPort {
 public:
  // Of all addresses of the node, of IPv6 too where there is any.
  // kErrOutOfResource: there is none.
  Status Reserve();
  void Release() { socket_.Reset(); }
  // 0 before Reserve; stays after Release.
  uint16_t number() const { return number_; }

 private:
  UniqueFd socket_;
  uint16_t number_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_RESERVED_PORT_H_
