// Shutdown of all agents of an overlay, as far as they can be reached.
#ifndef CANOPY_CLIENT_CLI_AGENTS_OVERLAY_END_H_
#define CANOPY_CLIENT_CLI_AGENTS_OVERLAY_END_H_

#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"
#include "common/status.h"

namespace canopy::cli {

struct OverlayEnd {
  bool reached = false;             // some agent was, or was here
  std::vector<std::string> silent;  // nodes whose agents may still run
};

// Asks an agent that answers, preferably the root, to shut down with all
// members that it reaches, and every other member individually, as one that was
// just restarted has no link yet. Waits until those of this machine are gone,
// and with `force` kills those that do not end. Takes seconds at most when
// nothing runs; with `force` jobs get their time to end. Errors: jobs run
// (without `force`), or agents do not end, which are named.
Result<OverlayEnd> EndOverlay(const v1::Context& context, bool force);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_OVERLAY_END_H_
