// Shuts down all agents of an overlay that can be reached.
#ifndef CANOPY_CLIENT_CLI_AGENTS_OVERLAY_END_H_
#define CANOPY_CLIENT_CLI_AGENTS_OVERLAY_END_H_

#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"
#include "common/status.h"

namespace canopy::cli {

struct OverlayEnd {
  bool reached = false;             // an agent was running here or answered
  std::vector<std::string> silent;  // nodes whose agents may still run
};

// Requests the shutdown of an overlay. One agent that answers, preferably the
// root, forwards the request to all members that it reaches. Every other member
// gets it directly, because an agent that was just restarted has no link yet.
// Waits up to ten seconds until the agents of this machine have ended; with
// `force`, kills those that have not ended then. Their shims continue to end
// the jobs. Fails if jobs run (without `force`), or if agents of this machine
// do not end; the error names their nodes.
Result<OverlayEnd> EndOverlay(const v1::Context& context, bool force);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_OVERLAY_END_H_
