// Starts threads, which the system may refuse.
#ifndef CANOPY_COMMON_POSIX_START_THREAD_H_
#define CANOPY_COMMON_POSIX_START_THREAD_H_

#include <functional>
#include <thread>

#include "common/status.h"

namespace canopy {

// Starts a thread that runs `body`. Returns kErrOutOfResource with the reason
// if the system refuses it, usually because the user has as many processes and
// threads as a limit allows (RLIMIT_NPROC, or that of a control group).
Result<std::thread> StartThread(std::function<void()> body);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_START_THREAD_H_
