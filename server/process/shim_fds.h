// The descriptors that a job's shim holds for the agent's successor.
#ifndef CANOPY_SERVER_PROCESS_SHIM_FDS_H_
#define CANOPY_SERVER_PROCESS_SHIM_FDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/posix/named_fd.h"
#include "common/posix/unique_fd.h"
#include "server/shim/channel.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Descriptors are sent immediately, because they must outlive this process,
// which may die at any moment. `channel` is the connection to the shim. Loop
// thread only.
class ShimFds {
 public:
  // Sends the shim a descriptor to hold under this name.
  static void Hold(FrameChannel* channel, const std::string& name, UniqueFd fd);

  // Sends connections that the shim is to hold. Returns false, and sends none,
  // if the shim cannot hold all of them. Names that were released before may be
  // used again.
  bool HoldConnections(FrameChannel* channel, std::vector<NamedFd> connections);
  // Releases a connection, now if `at_once`, otherwise later in a batch.
  void ReleaseConnection(FrameChannel* channel, const std::string& name,
                         bool at_once);

  // These functions store the descriptors of a Held or Welcome frame until
  // TakeFound. They return false if the numbers of names and descriptors
  // differ.
  bool AddFoundConnections(std::vector<std::string> names,
                           std::vector<UniqueFd> fds);
  bool AddFound(std::vector<std::string> names, std::vector<UniqueFd> fds);
  std::vector<NamedFd> TakeFound();

 private:
  void SendReleases(FrameChannel* channel);

  size_t num_connections_ = 0;  // number of connections that the shim holds
  std::vector<std::string> to_release_;
  std::vector<NamedFd> found_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_FDS_H_
