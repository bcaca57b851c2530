// A descriptor with an owner.
#ifndef CANOPY_COMMON_POSIX_UNIQUE_FD_H_
#define CANOPY_COMMON_POSIX_UNIQUE_FD_H_

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace canopy {

// Closes its descriptor in the destructor. -1: holds none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(other.Release());
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1) {
    if (fd_ >= 0 && fd_ != fd) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// Duplicates the descriptor, close-on-exec. On failure returns no descriptor
// and sets errno.
inline UniqueFd DuplicateFd(int fd) {
  return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_UNIQUE_FD_H_
