#include "server/control/user_connections.h"

#include <sys/socket.h>

#include <algorithm>

namespace canopy::control {
namespace {

// Returns 0 if `fd` is not an open socket.
uint64_t CookieOf(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  const bool known = getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0;
  return known ? cookie : 0;
}

}  // namespace

bool UserConnections::Admit(int fd, uid_t user) {
  std::erase_if(
      open_, [](const Open& open) { return CookieOf(open.fd) != open.cookie; });
  const auto of_user = std::ranges::count(open_, user, &Open::user);
  if (open_.size() >= kMax || static_cast<size_t>(of_user) >= kMaxOfUser) {
    return false;
  }
  open_.push_back({fd, CookieOf(fd), user});
  return true;
}

UserCalls::Slot UserCalls::Begin(uid_t user) {
  {
    const MutexLock lock(counts_->mutex);
    size_t& count = counts_->of_user[user];
    if (count >= kMaxOfUser) return nullptr;
    ++count;
  }
  return Slot(counts_.get(), [counts = counts_, user](void*) {
    const MutexLock lock(counts->mutex);
    if (--counts->of_user[user] == 0) counts->of_user.erase(user);
  });
}

}  // namespace canopy::control
