#include "client/cli/run/input_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/request/pty_input.h"

namespace canopy::cli {
namespace {

constexpr uint64_t kWindow = 256 << 10;
constexpr size_t kChunk = 32 << 10;
constexpr int kRetryMs = 500;

}  // namespace

InputSource::InputSource(int fd, bool for_terminal)
    : fd_(fd),
      terminal_(fd >= 0 && isatty(fd) == 1),
      for_terminal_(for_terminal),
      open_(fd >= 0) {}

bool InputSource::InBackground() const {
  return terminal_ && tcgetpgrp(fd_) != getpgrp();
}

bool InputSource::waits_for_window() const {
  const MutexLock lock(mutex_);
  return open_ && end_ - begin_ >= kWindow;
}

int InputSource::PollFd() const {
  return open_ && !waits_for_window() && !InBackground() ? fd_ : -1;
}

int InputSource::RetryMs() const {
  return open_ && InBackground() ? kRetryMs : -1;
}

std::optional<InputPiece> InputSource::Read() {
  std::string chunk(kChunk, '\0');
  const ssize_t n = read(fd_, chunk.data(), chunk.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
  // This process moved to the background between the poll and the read.
  if (n < 0 && errno == EIO && InBackground()) return std::nullopt;
  chunk.resize(n > 0 ? static_cast<size_t>(n) : 0);
  if (chunk.empty()) open_ = false;
  return Insert(for_terminal_ ? EncodePtyText(chunk) : std::move(chunk));
}

InputPiece InputSource::Insert(std::string data) {
  const MutexLock lock(mutex_);
  ended_ = data.empty();
  InputPiece piece{end_, std::move(data)};
  end_ += piece.data.size();
  if (!ended_) kept_.push_back(piece);
  return piece;
}

void InputSource::Consumed(uint64_t bytes) {
  const MutexLock lock(mutex_);
  DropTo(begin_ + bytes);
}

void InputSource::ConsumedTo(uint64_t position) {
  const MutexLock lock(mutex_);
  DropTo(position);
}

void InputSource::DropTo(uint64_t position) {
  begin_ = std::clamp(position, begin_, end_);
  while (!kept_.empty() &&
         kept_.front().position + kept_.front().data.size() <= begin_) {
    kept_.pop_front();
  }
}

uint64_t InputSource::begin() const {
  const MutexLock lock(mutex_);
  return begin_;
}

std::vector<InputPiece> InputSource::Kept() const {
  const MutexLock lock(mutex_);
  std::vector<InputPiece> out(kept_.begin(), kept_.end());
  if (ended_) out.push_back({end_, ""});
  return out;
}

void InputSource::Forget() {
  const MutexLock lock(mutex_);
  DropTo(end_);
}

}  // namespace canopy::cli
