// The clone() of the C library for children that share this process's memory.
#ifndef CANOPY_COMMON_POSIX_RAW_CLONE_H_
#define CANOPY_COMMON_POSIX_RAW_CLONE_H_

#include <sched.h>

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
// The sanitizer treats every clone() as a fork, whose child has its own copy of
// the sanitizer's state. A child that shares this process's memory shares that
// state too, so it is made by a name that the sanitizer does not intercept.
extern "C" int __clone(int (*function)(void*), void* stack, int flags,
                       void* argument, ...);
#define CANOPY_CLONE __clone
#else
#define CANOPY_CLONE clone
#endif

namespace canopy {

// Size of the kernel's signal set, in bytes. The C library's own sets lack the
// two signals that the C library uses itself.
inline constexpr size_t kKernelSigsetSize = 8;

}  // namespace canopy

// Marks the functions that a child of CANOPY_CLONE executes, because a
// sanitizer does not know the child's stack.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CANOPY_NO_SANITIZE \
  __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define CANOPY_NO_SANITIZE
#endif

#endif  // CANOPY_COMMON_POSIX_RAW_CLONE_H_
