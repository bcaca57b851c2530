// A file descriptor that closes itself.
#ifndef CANOPY_CLIENT_CHANNEL_UNIQUE_FD_H_
#define CANOPY_CLIENT_CHANNEL_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace canopy::client {

class UniqueFd {
 public:
  UniqueFd() = default;
  // Takes over `fd`; -1 is "none".
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives the descriptor to the caller.
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_CHANNEL_UNIQUE_FD_H_
