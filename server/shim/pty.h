// Pseudo-terminals for processes.
#ifndef CANOPY_SERVER_SHIM_PTY_H_
#define CANOPY_SERVER_SHIM_PTY_H_

#include <sys/types.h>

#include "common/posix/unique_fd.h"
#include "common/request/pty_input.h"

namespace canopy::process {

// The two ends of a pseudo-terminal, both close-on-exec.
struct Pty {
  UniqueFd master;  // of the shim
  UniqueFd slave;   // of the process
};

// Opens a pseudo-terminal of this size, which belongs to the user `owner`.
// Returns empty descriptors and sets errno on failure.
Pty OpenPty(const PtySize& size, uid_t owner);

// Changes the size of a terminal, whose foreground processes get SIGWINCH.
void SetPtySize(int fd, const PtySize& size);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PTY_H_
