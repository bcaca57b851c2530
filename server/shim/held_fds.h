// Descriptors that a shim keeps open for its future agents.
#ifndef CANOPY_SERVER_SHIM_HELD_FDS_H_
#define CANOPY_SERVER_SHIM_HELD_FDS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy::process {

// Duplicates `fd` to a number above the descriptors that processes inherit (3,
// 4, ...), which can then be set without overwriting the duplicate. Returns an
// empty descriptor if there are too many descriptors.
UniqueFd DuplicateReceived(int fd);

// Names with their descriptors, at equal indices.
struct NamedFds {
  std::vector<std::string> names;
  std::vector<UniqueFd> fds;
};

// The descriptors of the commands Hold and HoldMany, by name. Loop thread only.
class HeldFds {
 public:
  // Holds a descriptor and replaces an earlier one of that name. Returns false
  // if there would be more than kMaxHeld.
  bool Hold(const std::string& name, UniqueFd fd);
  // Holds all of `connections` or none. Returns false if there would be more
  // than kMaxConnections, or a name has no descriptor.
  bool HoldConnections(NamedFds connections);
  // Closes the connections with these names. Unknown names are ignored.
  void ReleaseConnections(const std::vector<std::string>& names);

  // Returns copies of the descriptors that Hold has stored.
  NamedFds Held() const;
  // Calls `send` with copies of all connections, in groups that fit into a
  // frame.
  void ForEachConnections(
      const std::function<void(NamedFds connections)>& send) const;

 private:
  std::map<std::string, UniqueFd> held_;
  std::map<std::string, UniqueFd> connections_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_HELD_FDS_H_
