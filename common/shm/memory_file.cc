#include "common/shm/memory_file.h"

#include <sys/mman.h>

#include <cerrno>

namespace canopy::shm {
namespace {

// Missing in older kernel headers.
constexpr unsigned kNoexecSeal = 0x0008U;  // MFD_NOEXEC_SEAL

}  // namespace

UniqueFd CreateMemoryFile(const char* name) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = memfd_create(name, flags | kNoexecSeal);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, flags);
  return UniqueFd(fd);
}

}  // namespace canopy::shm
