// A descriptor that is stored under a name.
#ifndef CANOPY_COMMON_POSIX_NAMED_FD_H_
#define CANOPY_COMMON_POSIX_NAMED_FD_H_

#include <string>

#include "common/posix/unique_fd.h"

namespace canopy {

struct NamedFd {
  std::string name;
  UniqueFd fd;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_NAMED_FD_H_
