#include "common/posix/boot_id.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "common/posix/unique_fd.h"

namespace canopy {

std::string BootId() {
  const UniqueFd fd(
      open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t n = fd ? read(fd.get(), text, sizeof text) : -1;
  if (n <= 0) return {};
  const std::string_view line(text, static_cast<size_t>(n));
  return std::string(line.substr(0, line.find('\n')));
}

}  // namespace canopy
