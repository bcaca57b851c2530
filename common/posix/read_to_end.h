// Reads everything from a descriptor.
#ifndef CANOPY_COMMON_POSIX_READ_TO_END_H_
#define CANOPY_COMMON_POSIX_READ_TO_END_H_

#include <string>

namespace canopy {

// Reads from `fd` until its end or an error, and returns what was read. Blocks
// and has no limit, so it is only for data of this program's own processes.
std::string ReadToEnd(int fd);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_READ_TO_END_H_
