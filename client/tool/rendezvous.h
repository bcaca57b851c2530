// The files by which tools find servers on their machine.
#ifndef CANOPY_CLIENT_TOOL_RENDEZVOUS_H_
#define CANOPY_CLIENT_TOOL_RENDEZVOUS_H_

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"

namespace canopy::client {

// A server as a rendezvous file describes it. The server writes the file. Tools
// of every OpenPMIx release read the first lines; an agent adds the path of its
// Unix socket.
struct ServerContact {
  ProcId server;
  std::string uri;  // NSPACE.RANK;TRANSPORT://ADDRESS
  // Process ids by which tools look for the server: the pid in the file, and
  // the pids in the files' names, such as the pid of the server's launcher.
  std::vector<int> pids;
  std::string socket;  // path of the agent's socket; empty: not an agent's
};

// Reads the file at `path`, or the file to which a link at `path` leads. Trusts
// only a regular file of this user or of root. Fails with kErrNotFound,
// kErrNoPermissions, or kErrBadParam if the file is not a rendezvous file.
Result<ServerContact> ReadRendezvousFile(const std::string& path);

// Returns the contacts in all rendezvous files named pmix.HOST.tool* in a
// directory or below it, each server once, in the order of the files' paths.
// Does not follow links. The depth of the search and the number of files are
// bounded. `host` is the HOST in the files' names: the name that the servers'
// machine has for itself.
std::vector<ServerContact> SearchRendezvous(const std::string& directory,
                                            const std::string& host);

// Returns the directories that servers have made in `base`, which is shared
// with other programs: the directories of this user or root whose names begin
// with kDirectoryPrefix (common/posix/private_dir.h). Visits at most 10,000
// entries.
std::vector<std::string> ServerDirectoriesIn(const std::string& base);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_RENDEZVOUS_H_
