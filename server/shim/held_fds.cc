#include "server/shim/held_fds.h"

#include <fcntl.h>

#include <utility>

#include "server/shim/protocol.h"

namespace canopy::process {
namespace {

constexpr int kLowestReceivedFd = 32;

void AddCopy(const std::string& name, const UniqueFd& fd, NamedFds* to) {
  UniqueFd copy = DuplicateReceived(fd.get());
  if (!copy) return;
  to->names.push_back(name);
  to->fds.push_back(std::move(copy));
}

}  // namespace

UniqueFd DuplicateReceived(int fd) {
  return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, kLowestReceivedFd));
}

bool HeldFds::Hold(const std::string& name, UniqueFd fd) {
  if (held_.size() >= kMaxHeld && !held_.contains(name)) return false;
  held_[name] = std::move(fd);
  return true;
}

bool HeldFds::HoldConnections(NamedFds connections) {
  if (connections.names.size() != connections.fds.size() ||
      connections_.size() + connections.names.size() > kMaxConnections) {
    return false;
  }
  for (size_t i = 0; i < connections.names.size(); ++i) {
    connections_[connections.names[i]] = std::move(connections.fds[i]);
  }
  return true;
}

void HeldFds::ReleaseConnections(const std::vector<std::string>& names) {
  for (const std::string& name : names) connections_.erase(name);
}

NamedFds HeldFds::Held() const {
  NamedFds out;
  for (const auto& [name, fd] : held_) AddCopy(name, fd, &out);
  return out;
}

void HeldFds::ForEachConnections(
    const std::function<void(NamedFds connections)>& send) const {
  NamedFds next;
  for (const auto& [name, fd] : connections_) {
    AddCopy(name, fd, &next);
    if (next.fds.size() == kMaxFrameFds) send(std::exchange(next, {}));
  }
  if (!next.fds.empty()) send(std::move(next));
}

}  // namespace canopy::process
