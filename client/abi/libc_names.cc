// The names by which the C++ runtime calls libc_compat.h. They are in a
// separate file, so that only the shared library has them.

#include <dlfcn.h>

#include <cstdint>

#include "client/abi/libc_compat.h"

extern "C" {

std::uint32_t arc4random() noexcept { return canopy::client::RandomNumber(); }

int _dl_find_object(void* pc, dl_find_object* result) noexcept {
  return canopy::client::FindObject(pc, result);
}

}  // extern "C"
