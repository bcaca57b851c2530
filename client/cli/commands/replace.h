// Replaces the agents of an overlay by new agents.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_REPLACE_H_
#define CANOPY_CLIENT_CLI_COMMANDS_REPLACE_H_

#include "client/cli/context/context.pb.h"
#include "client/cli/context/context_store.h"
#include "client/cli/options/up_options.h"

namespace canopy::cli {

// First starts agents for members that have none. Then replaces the running
// agents one after the other, the root last; each replacement starts when the
// previous agent is linked with the overlay again. Continues after a failure
// and reports it. Updates the process ids and versions in `*context` and the
// store. With `json`, prints a document, otherwise text. Returns the exit code.
int ReplaceAgents(v1::Context* context, const UpOptions& options, bool json,
                  const ContextStore& store);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_REPLACE_H_
