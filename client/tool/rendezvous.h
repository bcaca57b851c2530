// The files by which tools find servers on their own machine.
#ifndef CANOPY_CLIENT_TOOL_RENDEZVOUS_H_
#define CANOPY_CLIENT_TOOL_RENDEZVOUS_H_

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"

namespace canopy::client {

// A server, as a rendezvous file tells of it. A file is written by its server:
// its first lines are those that tools of every OpenPMIx release read, and an
// agent adds where its Unix socket is.
struct ServerContact {
  ProcId server;
  std::string uri;  // NSPACE.RANK;TRANSPORT://ADDRESS
  // Processes by whose number tools ask for it: the one that the file tells of,
  // and those at the ends of the files' names, such as its launcher.
  std::vector<int> pids;
  std::string socket;  // path of the agent's socket; empty: not an agent's
};

// Reads one file, which may be a link to it. Only a regular file of this user
// or of root is believed. kErrNotFound, kErrNoPermissions, kErrBadParam: it is
// no rendezvous file.
Result<ServerContact> ReadRendezvousFile(const std::string& path);

// The contacts in all rendezvous files named pmix.HOST.tool* that are in a
// directory or below it, each server once, in the order of their names; links
// are not followed. A tree is searched to a bounded depth and number of files.
// `host`: what the machine of the servers calls itself.
std::vector<ServerContact> SearchRendezvous(const std::string& directory,
                                            const std::string& host);

// Returns the directories that servers made directly in `base`, which other
// programs use, too: those of this user or root whose names begin with
// "canopy-". At most 10,000 entries are visited.
std::vector<std::string> ServerDirectoriesIn(const std::string& base);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_RENDEZVOUS_H_
