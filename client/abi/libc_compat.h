#ifndef CANOPY_CLIENT_ABI_LIBC_COMPAT_H_
#define CANOPY_CLIENT_ABI_LIBC_COMPAT_H_

// Copies of the two functions of newer C libraries that the static C++ runtime
// inside libpmix.so.2 calls: arc4random (glibc 2.36) and _dl_find_object (glibc
// 2.35). With these copies the library also loads with glibc 2.34. It can
// therefore be used in containers and on nodes that are older than the machine
// that built it. The version script hides the copies from other libraries.

#include <cstdint>

struct dl_find_object;

namespace canopy::client {

// Returns a random number from the kernel. Aborts if the kernel has none.
std::uint32_t RandomNumber();

// Finds the loaded object that contains `pc`: its mapping and the address of
// its unwind table. Returns 0, or -1 if there is no such object or table.
int FindObject(void* pc, dl_find_object* result);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_LIBC_COMPAT_H_
