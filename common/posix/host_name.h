// What this machine calls itself.
#ifndef CANOPY_COMMON_POSIX_HOST_NAME_H_
#define CANOPY_COMMON_POSIX_HOST_NAME_H_

#include <string>

namespace canopy {

// gethostname, or "localhost" without one.
std::string LocalHostName();

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_HOST_NAME_H_
