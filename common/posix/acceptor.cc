#include "common/posix/acceptor.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace canopy {
namespace {

// Others want to be served too.
constexpr int kMostInARound = 64;

UniqueFd OpenReserve() {
  return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

Acceptor::Acceptor(UniqueFd listener)
    : listener_(std::move(listener)), reserve_(OpenReserve()) {}

bool Acceptor::Accept(const std::function<void(UniqueFd)>& on_connection) {
  for (int i = 0; i < kMostInARound; ++i) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr,
                        SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      exhausted_ = false;
      on_connection(std::move(fd));
    } else if (errno == EMFILE || errno == ENFILE) {
      RefuseOne();
      return !std::exchange(exhausted_, true);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;
    }
  }
  return false;
}

void Acceptor::RefuseOne() {
  if (!reserve_) return;
  reserve_.Reset();
  UniqueFd refused(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  refused.Reset();
  reserve_ = OpenReserve();
}

}  // namespace canopy
