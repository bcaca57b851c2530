// The names of functions that are not in every C library with which the
// libraries for users' programs are loaded: see libc_compat.h. These names are
// in a separate file, so that only these libraries have them. Where the kernel
// has the function, the function here is the system call.

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include "client/abi/libc_compat.h"

using canopy::client::CondClockWait;

extern "C" {

// glibc 2.36. The C++ library seeds its random_device with this function.
std::uint32_t arc4random() noexcept { return canopy::client::RandomNumber(); }

// glibc 2.35. Exceptions find the unwind table of a function with it.
int _dl_find_object(void* pc, dl_find_object* result) noexcept {
  return canopy::client::FindObject(pc, result);
}

// glibc 2.34 has atexit and pthread_atfork only in a static part, which also
// lacks the latter's counterpart in musl.
int atexit(void (*handler)()) noexcept {
  return canopy::client::RegisterExitHandler(handler);
}

int pthread_atfork(void (*prepare)(), void (*parent)(),
                   void (*child)()) noexcept {
  return canopy::client::RegisterForkHandlers(prepare, parent, child);
}

// glibc 2.33. On 64-bit machines, the kernel's struct stat is that of every C
// library.
int fstat(int fd, struct stat* out) noexcept {
  return static_cast<int>(syscall(SYS_fstat, fd, out));
}

int fstat64(int fd, struct stat64* out) noexcept {
  return static_cast<int>(syscall(SYS_fstat, fd, out));
}

int fstatat(int dir, const char* path, struct stat* out, int flags) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, dir, path, out, flags));
}

int stat(const char* path, struct stat* out) noexcept {
  return fstatat(AT_FDCWD, path, out, 0);
}

int lstat(const char* path, struct stat* out) noexcept {
  return fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

// glibc 2.32. While this variable is true, the C++ library counts references
// without atomic instructions. A session has a thread, so nothing is lost by
// the value false.
char __libc_single_threaded = 0;

// glibc 2.30.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           clockid_t clock, const timespec* deadline) {
  static const CondClockWait libc = canopy::client::FindCondClockWait();
  return (libc != nullptr ? libc : canopy::client::WaitBySystemClock)(
      condition, mutex, clock, deadline);
}

// glibc 2.27.
int memfd_create(const char* name, unsigned flags) noexcept {
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

// glibc 2.25.
ssize_t getrandom(void* buffer, std::size_t size, unsigned flags) {
  return syscall(SYS_getrandom, buffer, size, flags);
}

int getentropy(void* buffer, std::size_t size) {
  return getrandom(buffer, size, 0) == static_cast<ssize_t>(size) ? 0 : -1;
}

// glibc only: the names by which the C++ library and the compiler's checks of
// sizes (_FORTIFY_SOURCE) call functions of the C library.
std::size_t __strftime_l(char* out, std::size_t size, const char* format,
                         const tm* time, locale_t locale) noexcept {
  return strftime_l(out, size, format, time, locale);
}

int __open_2(const char* path, int flags) { return open(path, flags); }

char* __realpath_chk(const char* path, char* out, std::size_t size) noexcept {
  if (size < PATH_MAX) std::abort();
  return realpath(path, out);
}

}  // extern "C"
