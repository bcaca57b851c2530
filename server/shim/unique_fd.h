// A descriptor and the duty to close it.
#ifndef CANOPY_SERVER_SHIM_UNIQUE_FD_H_
#define CANOPY_SERVER_SHIM_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace canopy::process {

class UniqueFd {
 public:
  UniqueFd() = default;
  // Takes ownership; -1 is none.
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives the descriptor and the duty away.
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_UNIQUE_FD_H_
