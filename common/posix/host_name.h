// The host name of this machine.
#ifndef CANOPY_COMMON_POSIX_HOST_NAME_H_
#define CANOPY_COMMON_POSIX_HOST_NAME_H_

#include <string>

namespace canopy {

// Returns gethostname, or "localhost" if it fails.
std::string LocalHostName();

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_HOST_NAME_H_
