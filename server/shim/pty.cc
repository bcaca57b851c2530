#include "server/shim/pty.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

namespace canopy::process {

Pty OpenPty(const PtySize& size, uid_t owner) {
  UniqueFd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[64];
  if (!master || unlockpt(master.get()) != 0 ||
      ptsname_r(master.get(), name, sizeof name) != 0) {
    return {};
  }
  UniqueFd slave(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave) return {};
  const bool is_own = owner == geteuid();
  if (!is_own && fchown(slave.get(), owner, static_cast<gid_t>(-1)) != 0) {
    return {};
  }
  SetPtySize(master.get(), size);
  return {std::move(master), std::move(slave)};
}

void SetPtySize(int fd, const PtySize& size) {
  winsize window = {};
  window.ws_row = static_cast<uint16_t>(size.rows);
  window.ws_col = static_cast<uint16_t>(size.columns);
  (void)ioctl(fd, TIOCSWINSZ, &window);
}

}  // namespace canopy::process
