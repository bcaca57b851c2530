// All that comes from a descriptor.
#ifndef CANOPY_COMMON_POSIX_READ_TO_END_H_
#define CANOPY_COMMON_POSIX_READ_TO_END_H_

#include <string>

namespace canopy {

// What is read from `fd` until its end, or an error. Waits, and has no limit:
// for what a process of our own writes.
std::string ReadToEnd(int fd);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_READ_TO_END_H_
