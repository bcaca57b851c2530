#include "common/shm/barrier_layout.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace canopy::shm {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

void BarrierView::WakeAll() const {
  syscall(SYS_futex, futex(), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

BarrierView::Slept BarrierView::Sleep(uint32_t value,
                                      int64_t timeout_ns) const {
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
  timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
  const long result =
      syscall(SYS_futex, futex(), FUTEX_WAIT, value,
              timeout_ns == kForever ? nullptr : &timeout, nullptr, 0);
  if (result == 0) return Slept::kWoken;
  return errno == ETIMEDOUT ? Slept::kTimedOut : Slept::kNotAtAll;
}

}  // namespace canopy::shm
