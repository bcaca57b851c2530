// Descriptors that a shim keeps open for the agents to come.
#ifndef CANOPY_SERVER_SHIM_HELD_FDS_H_
#define CANOPY_SERVER_SHIM_HELD_FDS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy::process {

// A copy, above the descriptors that processes inherit (3, 4, ...), so that
// placing one of those never covers it. Empty when there are too many.
UniqueFd DuplicateReceived(int fd);

// Names with their descriptors, next to each other.
struct NamedFds {
  std::vector<std::string> names;
  std::vector<UniqueFd> fds;
};

// Loop thread only.
class HeldFds {
 public:
  // In place of an earlier one of that name. False when there would be more
  // than kMaxHeld.
  bool Hold(const std::string& name, UniqueFd fd);
  // False when there would be more than kMaxConnections, or a name has no
  // descriptor; none is held then.
  bool HoldConnections(NamedFds connections);
  void ReleaseConnections(const std::vector<std::string>& names);

  // Copies of what Hold got.
  NamedFds Held() const;
  // Calls `send` with copies of all connections, as many at a time as one frame
  // takes.
  void ForEachConnections(
      const std::function<void(NamedFds connections)>& send) const;

 private:
  std::map<std::string, UniqueFd> held_;
  std::map<std::string, UniqueFd> connections_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_HELD_FDS_H_
