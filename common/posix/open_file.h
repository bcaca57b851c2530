// Opens files for writing by paths that other users may change meanwhile.
#ifndef CANOPY_COMMON_POSIX_OPEN_FILE_H_
#define CANOPY_COMMON_POSIX_OPEN_FILE_H_

#include <sys/types.h>

#include <string>

#include "common/posix/unique_fd.h"

namespace canopy {

// Like open(path, flags, mode), but other users cannot make a privileged
// process write to a place of their choice (OpenDirectory). In a directory that
// one user controls, the file is opened or made with that user's rights. In a
// directory that several users may write, no link is followed and no other
// user's file is opened. On failure returns no descriptor and sets errno:
// ENOENT for a missing directory, EACCES for a file that must not be opened.
UniqueFd OpenToWrite(const std::string& path, int flags, mode_t mode);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_OPEN_FILE_H_
