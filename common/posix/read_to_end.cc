#include "common/posix/read_to_end.h"

#include <unistd.h>

#include <cerrno>

namespace canopy {

std::string ReadToEnd(int fd) {
  std::string text;
  char buffer[1 << 14];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace canopy
