// Identifies one boot of this machine.
#ifndef CANOPY_COMMON_POSIX_BOOT_ID_H_
#define CANOPY_COMMON_POSIX_BOOT_ID_H_

#include <string>

namespace canopy {

// Returns an identifier that differs on other machines and after each boot. It
// is empty if the kernel does not provide it.
std::string BootId();

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_BOOT_ID_H_
