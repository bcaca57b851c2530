#include "server/agent/persistence/private_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace canopy::agent {

Status CannotWrite(const std::string& path) {
  return Status(kErrJobSysOpFailed,
                "cannot write " + path + ": " + std::strerror(errno));
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::optional<std::string> ReadPrivate(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != geteuid() || (info.st_mode & 077) != 0 ||
      static_cast<uint64_t>(info.st_size) > kMaxPrivateFile) {
    return std::nullopt;
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  for (size_t have = 0; have < text.size();) {
    const ssize_t n = pread(fd, text.data() + have, text.size() - have,
                            static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    have += static_cast<size_t>(n);
  }
  return text;
}

}  // namespace canopy::agent
