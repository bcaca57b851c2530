// Opening a file to write to by a path that users may tamper with meanwhile.
#ifndef CANOPY_COMMON_POSIX_OPEN_FILE_H_
#define CANOPY_COMMON_POSIX_OPEN_FILE_H_

#include <sys/types.h>

#include <string>

#include "common/posix/unique_fd.h"

namespace canopy {

// open(path, flags, mode), except that a privileged process is not made to
// write where another user wants it to (OpenDirectory). In a directory that one
// user controls it opens, and makes, the file with that user's rights. In one
// that several users may write it follows no link and writes to no file of
// another user. Holds none, with errno, when there is no such file: ENOENT for
// a directory that is not there, EACCES for a file that is left alone.
UniqueFd OpenToWrite(const std::string& path, int flags, mode_t mode);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_OPEN_FILE_H_
