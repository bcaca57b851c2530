// What a tool that has started this one has left for it in the environment
// (chapter "Tools and Debuggers", "Tool initialization environmental
// variables").
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
  std::string file;         // that tells of it, and is there
  int keepalive_pipe = -1;  // its end is the end of the initiator
  // What a tool with this library has ordered; malformed: nothing.
  LauncherOrders orders;

  // Something is to be followed once there is a session.
  bool any() const {
    return !uri.empty() || !file.empty() || keepalive_pipe >= 0;
  }
};

// Takes it out of the environment, so that processes that this one starts do
// not see it. A file that is not there is to be written by a launcher, and
// stays in the environment. Not while other threads use the environment.
Initiator TakeInitiator();

// Watches the pipe, whose end raises PMIX_EVENT_JOB_END in this process, and
// attaches to the server; the primary stays as it is. PMIX_ERR_BAD_PARAM: the
// pipe is none; otherwise as AttachToServer.
int FollowInitiator(Session& session, const Initiator& initiator);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_INITIATOR_H_
