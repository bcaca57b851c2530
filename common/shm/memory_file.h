// Files that live in memory alone and are handed to other processes.
#ifndef CANOPY_COMMON_SHM_MEMORY_FILE_H_
#define CANOPY_COMMON_SHM_MEMORY_FILE_H_

#include "common/posix/unique_fd.h"

namespace canopy::shm {

// An empty file that can be sealed, is closed on exec and can not be executed
// where the kernel knows how to forbid it. `name` is what /proc shows. No
// descriptor, with errno set, when the system refuses.
UniqueFd CreateMemoryFile(const char* name);

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_MEMORY_FILE_H_
