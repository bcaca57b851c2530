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

// What is sent is sent at once: from then on it outlives this process, which
// may die at any moment. The channel is the shim's; loop thread only.
class ShimFds {
 public:
  static void Hold(FrameChannel* channel, const std::string& name, UniqueFd fd);

  // `version`: the shim's. False when it cannot hold all of them: then it gets
  // none. A name that was released before may be used again.
  bool HoldConnections(FrameChannel* channel, uint32_t version,
                       std::vector<NamedFd> connections);
  // Unless `at_once`: later, with others.
  void ReleaseConnection(FrameChannel* channel, const std::string& name,
                         bool at_once);

  // Keeps what a Held or Welcome frame brought, until TakeFound. False when
  // names and descriptors do not fit together.
  bool AddFoundConnections(std::vector<std::string> names,
                           std::vector<UniqueFd> fds);
  bool AddFound(std::vector<std::string> names, std::vector<UniqueFd> fds);
  std::vector<NamedFd> TakeFound();

 private:
  void SendReleases(FrameChannel* channel);

  size_t num_connections_ = 0;  // held by the shim
  std::vector<std::string> to_release_;
  std::vector<NamedFd> found_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_FDS_H_
