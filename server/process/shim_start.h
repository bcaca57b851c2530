// Starts canopy-shim processes and finds their sockets.
#ifndef CANOPY_SERVER_PROCESS_SHIM_START_H_
#define CANOPY_SERVER_PROCESS_SHIM_START_H_

#include <string>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/shim/socket_file.h"

namespace canopy::process {

struct StartedShim {
  int pid = 0;  // a child of this process, leader of a process group
  UniqueFd connection;
  SocketFile file;
};

// Starts a shim for a namespace, with its socket in the open runtime
// directory. It joins the session that this process leads, or else has one of
// its own, so that its processes never have this one's terminal. Blocks for the
// exec only. `open_files`: how many files its processes may have open at first;
// 0: as many as this process. Fails with kErrExists when a shim already holds
// this namespace; a socket that a dead one left is replaced.
Result<StartedShim> StartShim(const std::string& shim_path, int runtime_dir,
                              const std::string& nspace, uint64_t open_files);

// Names of the shim sockets in the runtime directory.
std::vector<std::string> ListShimSockets(int runtime_dir);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_START_H_
