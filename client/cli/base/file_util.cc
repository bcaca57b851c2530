#include "client/cli/base/file_util.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace canopy::cli {

Result<std::string> ReadFile(const std::string& path, size_t limit) {
  const auto failed = [&path] {
    return Status(errno == ENOENT ? kErrNotFound : kErrNoPermissions,
                  path + ": " + std::strerror(errno));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed();
  std::string content;
  char chunk[16384];
  ssize_t n;
  while ((n = read(fd, chunk, sizeof chunk)) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      Status status = failed();
      close(fd);
      return status;
    }
    content.append(chunk, static_cast<size_t>(n));
    if (content.size() > limit) {
      close(fd);
      return Status(kErrBadParam, path + ": too large");
    }
  }
  close(fd);
  return content;
}

Status MakeFile(const std::string& path, std::string_view content) {
  const auto failed = [&path](int error) {
    return Status(error == EEXIST ? kErrExists : kErrNoPermissions,
                  path + ": " + std::strerror(error));
  };
  const std::string temporary = path + "." + std::to_string(getpid());
  unlink(temporary.c_str());
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return failed(errno);
  int error = WriteAll(fd, content) ? 0 : errno;
  if (close(fd) != 0 && error == 0) error = errno;
  // Unlike rename, link does not replace an existing file.
  if (error == 0 && link(temporary.c_str(), path.c_str()) != 0) error = errno;
  unlink(temporary.c_str());
  return error == 0 ? Status() : failed(error);
}

bool WriteAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      poll(&wait, 1, -1);
      continue;
    }
    if (n <= 0) return false;
    data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace canopy::cli
