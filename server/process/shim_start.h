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
  // A child of this process and leader of a process group; 0: the shim is in a
  // pod, where this process can neither see nor end processes.
  int pid = 0;
  UniqueFd connection;
  SocketFile file;
};

// Starts a shim for a namespace, with its socket in the open runtime directory.
// The shim joins the session that this process leads, or else gets its own
// session, so that its processes never have this process's terminal. Blocks
// only until the exec. `open_files` is the soft limit on open files of the
// job's processes; 0: the limit of this process. The socket of a dead shim is
// replaced. Returns kErrExists if a shim already holds this namespace,
// kErrSysLimitsFiles if too many files are open, and kErrJobSysOpFailed if the
// shim cannot be started.
Result<StartedShim> StartShim(const std::string& shim_path, int runtime_dir,
                              const std::string& nspace, uint64_t open_files);

// Returns the names of the shim sockets in the runtime directory.
std::vector<std::string> ListShimSockets(int runtime_dir);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_START_H_
