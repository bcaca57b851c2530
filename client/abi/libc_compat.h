#ifndef CANOPY_CLIENT_ABI_LIBC_COMPAT_H_
#define CANOPY_CLIENT_ABI_LIBC_COMPAT_H_

// Implementations of functions that are not in every C library with which
// libpmix.so.2 is loaded, from glibc 2.17 on and musl: see
// docs/design/loading.md. libc_names.cc gives them their names, and the version
// script hides these names from other libraries.

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

struct dl_find_object;

namespace canopy::client {

// Returns a random number from the kernel. Aborts if the kernel has none.
std::uint32_t RandomNumber();

// Finds the loaded object that contains `pc`: its mapping and the address of
// its unwind table. Returns 0, or -1 if there is no such object or table.
int FindObject(void* pc, dl_find_object* result);

using CondClockWait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t,
                              const timespec*);

// Returns the C library's pthread_cond_clockwait, or null if it has none.
CondClockWait FindCondClockWait();

// Waits until a notification, or until `clock` shows `deadline`, which is
// converted to the time of the system clock. If the system clock is set
// meanwhile, the wait ends early or late by that difference. Returns 0,
// ETIMEDOUT, or EINVAL.
int WaitBySystemClock(pthread_cond_t* condition, pthread_mutex_t* mutex,
                      clockid_t clock, const timespec* deadline);

// Registers functions that run around each fork(), as pthread_atfork does.
int RegisterForkHandlers(void (*prepare)(), void (*parent)(), void (*child)());

// Registers a function that runs at the end of the program. Returns 0 on
// success.
int RegisterExitHandler(void (*handler)());

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_LIBC_COMPAT_H_
