#include "client/cli/input_source.h"

#include <unistd.h>

#include <cerrno>

namespace canopy::cli {
namespace {

constexpr uint64_t kWindow = 256 << 10;
constexpr size_t kChunk = 32 << 10;
constexpr int kRetryMs = 500;

}  // namespace

InputSource::InputSource(int fd)
    : fd_(fd), terminal_(fd >= 0 && isatty(fd) == 1), open_(fd >= 0) {}

bool InputSource::InBackground() const {
  return terminal_ && tcgetpgrp(fd_) != getpgrp();
}

bool InputSource::waits_for_window() const {
  return open_ && in_flight_ >= kWindow;
}

int InputSource::PollFd() const {
  return open_ && !waits_for_window() && !InBackground() ? fd_ : -1;
}

int InputSource::RetryMs() const {
  return open_ && InBackground() ? kRetryMs : -1;
}

std::optional<std::string> InputSource::Read() {
  std::string chunk(kChunk, '\0');
  const ssize_t n = read(fd_, chunk.data(), chunk.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
  // We went to the background between the poll and the read.
  if (n < 0 && errno == EIO && InBackground()) return std::nullopt;
  chunk.resize(n > 0 ? static_cast<size_t>(n) : 0);
  if (chunk.empty()) {
    open_ = false;
    ended_ = true;
  }
  in_flight_ += chunk.size();
  return chunk;
}

}  // namespace canopy::cli
