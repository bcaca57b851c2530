// Putting new agents in the place of those of an overlay.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_REPLACE_H_
#define CANOPY_CLIENT_CLI_COMMANDS_REPLACE_H_

#include "client/cli/context/context.pb.h"
#include "client/cli/context/context_store.h"
#include "client/cli/options/up_options.h"

namespace canopy::cli {

// One after the other, each when the one before it is linked with the others
// again; the root comes last. Goes on after a failure, says what failed and
// notes in the store which processes the agents are. Returns the exit code.
int ReplaceAgents(v1::Context* context, const UpOptions& options,
                  const ContextStore& store);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_REPLACE_H_
