// Which run of this machine's kernel this is.
#ifndef CANOPY_COMMON_POSIX_BOOT_ID_H_
#define CANOPY_COMMON_POSIX_BOOT_ID_H_

#include <string>

namespace canopy {

// Other machines, and this one when it is booted again, have another. Empty
// when the kernel does not tell.
std::string BootId();

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_BOOT_ID_H_
