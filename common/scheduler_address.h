// Where a scheduler serves agents, as operators write it.
#ifndef CANOPY_COMMON_SCHEDULER_ADDRESS_H_
#define CANOPY_COMMON_SCHEDULER_ADDRESS_H_

#include <string_view>

#include "common/status.h"

namespace canopy {

// unix:PATH with an absolute path, or HOST:PORT with a port of 1 to 65535.
// kErrBadParam says in one line what it is not.
Status CheckSchedulerAddress(std::string_view address);

}  // namespace canopy

#endif  // CANOPY_COMMON_SCHEDULER_ADDRESS_H_
