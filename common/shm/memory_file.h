// Memory files, which are passed to other processes.
#ifndef CANOPY_COMMON_SHM_MEMORY_FILE_H_
#define CANOPY_COMMON_SHM_MEMORY_FILE_H_

#include "common/posix/unique_fd.h"

namespace canopy::shm {

// Makes an empty file that can be sealed, is close-on-exec, and cannot be
// executed if the kernel supports that. /proc shows `name`. On failure returns
// no descriptor and sets errno.
UniqueFd CreateMemoryFile(const char* name);

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_MEMORY_FILE_H_
