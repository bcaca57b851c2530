// The environment variables of this process, if it is a tool that another tool
// has started (PMIx Standard, chapter "Tools and Debuggers", "Tool
// initialization environmental variables").
#ifndef CANOPY_CLIENT_TOOL_INITIATOR_H_
#define CANOPY_CLIENT_TOOL_INITIATOR_H_

#include <string>

#include "client/session/session.h"
#include "client/tool/launcher_orders.h"

namespace canopy::client {

// The names of the variables.
inline constexpr char kEnvRendezvousUri[] = "PMIX_LAUNCHER_RNDZ_URI";
inline constexpr char kEnvRendezvousFile[] = "PMIX_LAUNCHER_RNDZ_FILE";
inline constexpr char kEnvKeepalivePipe[] = "PMIX_KEEPALIVE_PIPE";

struct Initiator {
  std::string uri;          // of the server to attach to
  std::string file;         // existing file that names the server
  int keepalive_pipe = -1;  // closed when the initiator ends
  // The data from a tool with this library; empty if malformed.
  LauncherOrders orders;

  // Returns true if FollowInitiator must be called once there is a session.
  bool any() const {
    return !uri.empty() || !file.empty() || keepalive_pipe >= 0;
  }
};

// Removes the variables from the environment, so that processes that this
// process starts do not get them. The name of a file that does not exist stays,
// because a launcher will write the file. Must not be called while other
// threads use the environment.
Initiator TakeInitiator();

// Watches the pipe, whose end raises PMIX_EVENT_JOB_END in this process, and
// attaches to the server. The primary server does not change. Returns
// PMIX_ERR_BAD_PARAM if the pipe's descriptor is not open; other errors as for
// AttachToServer.
int FollowInitiator(Session& session, const Initiator& initiator);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_INITIATOR_H_
