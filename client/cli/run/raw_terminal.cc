#include "client/cli/run/raw_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace canopy::cli {

PtySize WindowOf(int fd) {
  winsize window = {};
  if (ioctl(fd, TIOCGWINSZ, &window) != 0) return {};
  return {window.ws_row, window.ws_col};
}

void RawTerminal::Enter() {
  if (entered_ || !exists() || tcgetpgrp(fd_) != getpgrp()) return;
  if (tcgetattr(fd_, &before_) != 0) return;
  termios raw = before_;
  cfmakeraw(&raw);
  entered_ = tcsetattr(fd_, TCSADRAIN, &raw) == 0;
}

void RawTerminal::Leave() {
  if (!entered_) return;
  entered_ = false;
  if (tcgetpgrp(fd_) != getpgrp()) return;
  (void)tcsetattr(fd_, TCSADRAIN, &before_);
}

}  // namespace canopy::cli
