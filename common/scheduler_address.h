// The address at which a scheduler serves agents, as operators write it.
#ifndef CANOPY_COMMON_SCHEDULER_ADDRESS_H_
#define CANOPY_COMMON_SCHEDULER_ADDRESS_H_

#include <string_view>

#include "common/status.h"

namespace canopy {

// Accepts unix:PATH with an absolute path, or HOST:PORT with a port of 1 to
// 65535. Otherwise returns kErrBadParam with a message of one line.
Status CheckSchedulerAddress(std::string_view address);

}  // namespace canopy

#endif  // CANOPY_COMMON_SCHEDULER_ADDRESS_H_
