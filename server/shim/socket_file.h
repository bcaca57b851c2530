// The listening socket of a shim in the agent's runtime directory.
#ifndef CANOPY_SERVER_SHIM_SOCKET_FILE_H_
#define CANOPY_SERVER_SHIM_SOCKET_FILE_H_

#include <sys/types.h>

#include <string>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::process {

// Returns the status for EMFILE and ENFILE (too many open files), with advice.
Status OutOfDescriptors();

// Opens a directory for the functions below. Returns kErrSysLimitsFiles if too
// many files are open, and kErrJobSysOpFailed for any other failure.
Result<UniqueFd> OpenDirectory(const std::string& path);

// Creates a listening socket with this name in the directory. The socket is
// close-on-exec and non-blocking. Its path may be longer than a socket address
// allows. Returns kErrBadParam if the name is too long, and otherwise the
// errors of OpenDirectory: kErrJobSysOpFailed also if the name exists.
Result<UniqueFd> ListenAt(int directory, const std::string& name);
// Connects without blocking to the socket with this name in the directory.
// Returns kErrUnreach if no process listens there, kErrBadParam if the name is
// too long, and kErrCommFailure for any other failure.
Result<UniqueFd> ConnectAt(int directory, const std::string& name);

// The file of a socket that this program has created and later removes.
class SocketFile {
 public:
  SocketFile() = default;
  // The file must exist. Remove removes this file only.
  SocketFile(UniqueFd directory, std::string name);

  // Removes the file, unless another file has the name now.
  void Remove();

 private:
  UniqueFd directory_;
  std::string name_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_SOCKET_FILE_H_
