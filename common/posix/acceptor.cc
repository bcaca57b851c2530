#include "common/posix/acceptor.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace canopy {
namespace {

// Limits the work of one round, so that other tasks get their turn.
constexpr int kMostInARound = 64;

bool IsExhausted(int error) { return error == EMFILE || error == ENFILE; }

}  // namespace

Acceptor::Acceptor(UniqueFd listener, Reserve reserve)
    : listener_(std::move(listener)), size_(reserve) {
  FillReserve();
}

void Acceptor::FillReserve() {
  while (reserve_.size() < size_.descriptors) {
    UniqueFd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd) return;
    reserve_.push_back(std::move(fd));
  }
}

bool Acceptor::Accept(const std::function<void(UniqueFd)>& on_connection) {
  for (int i = 0; i < kMostInARound; ++i) {
    FillReserve();
    UniqueFd fd = AcceptOne();
    if (!fd && IsExhausted(errno)) fd = AcceptFromReserve();
    if (fd) {
      exhausted_ = false;
      on_connection(std::move(fd));
    } else if (IsExhausted(errno)) {
      RefuseOne();
      return !std::exchange(exhausted_, true);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;
    }
  }
  return false;
}

UniqueFd Acceptor::AcceptOne() const {
  return UniqueFd(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

UniqueFd Acceptor::AcceptFromReserve() {
  if (reserve_.size() <= size_.per_connection) {
    errno = EMFILE;
    return UniqueFd();
  }
  reserve_.resize(reserve_.size() - size_.per_connection);
  return AcceptOne();
}

void Acceptor::RefuseOne() {
  if (reserve_.empty()) return;
  reserve_.clear();
  AcceptOne().Reset();
  FillReserve();
}

}  // namespace canopy
