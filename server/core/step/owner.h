// The user and group whose rights a process has.
#ifndef CANOPY_SERVER_CORE_STEP_OWNER_H_
#define CANOPY_SERVER_CORE_STEP_OWNER_H_

#include <cstdint>

namespace canopy::core {

struct Owner {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_OWNER_H_
