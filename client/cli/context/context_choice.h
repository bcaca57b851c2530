// Which contexts a command is about: overlays of `canopy up`, and agents that
// jobs of `canopy run` have for themselves (client/cli/context/run_contexts.h).
//
// A name is that of --context (`asked`), else that of CANOPY_CONTEXT, and can
// be one of either kind.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_CHOICE_H_
#define CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_CHOICE_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"
#include "common/status.h"

namespace canopy::cli {

// For a command that launches: the context of that name, else the overlay that
// is chosen (ChooseContext in context_store.h). No value: none is named, and no
// overlay is up. The agents of another `canopy run` are never chosen unless
// they are named.
Result<std::optional<v1::Context>> FindContext(const std::string& asked);

// For a command that changes an overlay as a whole: the same, where one is
// needed. kErrNotFound: there is none.
Result<v1::Context> NeedOverlay(const std::string& asked);

// For a command that looks at one context: as FindContext, and when no overlay
// is up, the run that is chosen (ChooseRun in run_choice.h). kErrNotFound:
// there is neither. kErrBadParam: several can be meant; the message lists them.
Result<v1::Context> NeedContext(const std::string& asked);

// For a command that looks at jobs: the context of that name alone, else all
// overlays and runs of this user. Inside the allocation of a batch system, the
// overlays of other allocations are left out.
struct Contexts {
  std::vector<v1::Context> all;
  // The first is the one that NeedContext gives.
  bool first_is_chosen = false;
};
Result<Contexts> FindContexts(const std::string& asked);

// kErrNotFound, with what to do about it: the user has no context.
Status NoContext();

// The names of all contexts of this user, sorted by kind and name.
Result<std::vector<std::string>> ContextNames();

// Whether this is the context of a `canopy run` that has withdrawn it, because
// its job is over. Agents that do not answer are then no error.
bool HasEnded(const v1::Context& run);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_CHOICE_H_
