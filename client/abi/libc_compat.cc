#include "client/abi/libc_compat.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" {

// The handle identifies this library, to which the registrations with the two
// functions of the C library belong.
extern void* __dso_handle;
int __cxa_atexit(void (*handler)(void*), void* argument, void* library);
// This function is missing in musl, whose pthread_atfork needs no handle.
int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                      void* library) __attribute__((weak));

}  // extern "C"

namespace canopy::client {
namespace {

constexpr long kNsPerSecond = 1'000'000'000;

timespec Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now;
}

bool IsAfter(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

// Returns `time`, which `clock` shows now or later, as the system clock's time.
timespec ToSystemClock(const timespec& time, const timespec& clock) {
  const timespec system = Now(CLOCK_REALTIME);
  timespec out{system.tv_sec + (time.tv_sec - clock.tv_sec),
               system.tv_nsec + (time.tv_nsec - clock.tv_nsec)};
  if (out.tv_nsec < 0) {
    --out.tv_sec;
    out.tv_nsec += kNsPerSecond;
  } else if (out.tv_nsec >= kNsPerSecond) {
    ++out.tv_sec;
    out.tv_nsec -= kNsPerSecond;
  }
  return out;
}

struct Search {
  std::uintptr_t pc;
  dl_find_object* result;
  bool found;
};

// Visits a loaded object and stops the iteration if it contains the address.
int VisitObject(dl_phdr_info* info, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  std::uintptr_t start = UINTPTR_MAX;
  std::uintptr_t end = 0;
  std::uintptr_t table = 0;
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) table = begin;
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t limit = begin + header.p_memsz;
    if (begin < start) start = begin;
    if (limit > end) end = limit;
    if (search.pc >= begin && search.pc < limit) inside = true;
  }
  if (!inside) return 0;
  if (table != 0) {
    *search.result = {};
    search.result->dlfo_map_start = reinterpret_cast<void*>(start);
    search.result->dlfo_map_end = reinterpret_cast<void*>(end);
    search.result->dlfo_eh_frame = reinterpret_cast<void*>(table);
    search.found = true;
  }
  return 1;
}

}  // namespace

std::uint32_t RandomNumber() {
  std::uint32_t number = 0;
  // Requests of at most 256 bytes are not interrupted by signals.
  if (syscall(SYS_getrandom, &number, sizeof(number), 0) != sizeof(number)) {
    std::abort();
  }
  return number;
}

int FindObject(void* pc, dl_find_object* result) {
  Search search{reinterpret_cast<std::uintptr_t>(pc), result, false};
  dl_iterate_phdr(VisitObject, &search);
  return search.found ? 0 : -1;
}

CondClockWait FindCondClockWait() {
  return reinterpret_cast<CondClockWait>(
      dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
}

int WaitBySystemClock(pthread_cond_t* condition, pthread_mutex_t* mutex,
                      clockid_t clock, const timespec* deadline) {
  if (deadline->tv_nsec < 0 || deadline->tv_nsec >= kNsPerSecond) return EINVAL;
  const timespec now = Now(clock);
  if (!IsAfter(*deadline, now)) return ETIMEDOUT;
  const timespec until = ToSystemClock(*deadline, now);
  return pthread_cond_timedwait(condition, mutex, &until);
}

int RegisterForkHandlers(void (*prepare)(), void (*parent)(), void (*child)()) {
  if (__register_atfork != nullptr) {
    return __register_atfork(prepare, parent, child, &__dso_handle);
  }
  using Register = int (*)(void (*)(), void (*)(), void (*)());
  const auto atfork =
      reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "pthread_atfork"));
  return atfork == nullptr ? ENOSYS : atfork(prepare, parent, child);
}

int RegisterExitHandler(void (*handler)()) {
  return __cxa_atexit(
      [](void* function) { reinterpret_cast<void (*)()>(function)(); },
      reinterpret_cast<void*>(handler), &__dso_handle);
}

}  // namespace canopy::client
