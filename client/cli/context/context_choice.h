// Which overlay a command is about.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_CHOICE_H_
#define CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_CHOICE_H_

#include <optional>
#include <string>

#include "client/cli/context/context.pb.h"
#include "common/status.h"

namespace canopy::cli {

// The context to use: `asked` of --context, else CANOPY_CONTEXT, else the one
// that there is. No value when none is up and none is asked for.
Result<std::optional<v1::Context>> FindContext(const std::string& asked);
// The same where one is needed: kErrNotFound says how to make it.
Result<v1::Context> NeedContext(const std::string& asked);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_CHOICE_H_
