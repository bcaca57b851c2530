// Chooses the contexts to which a command applies: overlays of `canopy up`, and
// agents that `canopy run` has started for its own job
// (client/cli/context/run_contexts.h).
//
// The name of a context comes from --context (`asked`) or else from
// CANOPY_CONTEXT, and may belong to either kind.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_CHOICE_H_
#define CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_CHOICE_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"
#include "common/status.h"

namespace canopy::cli {

// For a command that launches. Returns the context of that name, or without a
// name the overlay that ChooseContext chooses (context_store.h). Returns no
// value if no context is named and no overlay is up. The agents of another
// `canopy run` are chosen only by name.
Result<std::optional<v1::Context>> FindContext(const std::string& asked);

// For a command that changes a whole overlay. Like FindContext, but returns
// kErrNotFound if there is none.
Result<v1::Context> NeedOverlay(const std::string& asked);

// For a command that inspects one context. Like FindContext, but if no overlay
// is up, returns the run that ChooseRun chooses (run_choice.h). Returns
// kErrNotFound if there is neither, and kErrBadParam with a list if several
// contexts match.
Result<v1::Context> NeedContext(const std::string& asked);

// The contexts for a command that inspects jobs: only the context of the name
// that is given; without a name, all overlays and runs of this user. Inside the
// allocation of a batch system, the overlays of other allocations are omitted.
struct Contexts {
  std::vector<v1::Context> all;
  // True if the first context is the one that NeedContext returns.
  bool first_is_chosen = false;
};
// Returns kErrNotFound if the named context does not exist. Without a name, the
// result may be empty.
Result<Contexts> FindContexts(const std::string& asked);

// Returns kErrNotFound with advice, for a user without contexts.
Status NoContext();

// Returns the names of all contexts of this user, sorted by kind and name.
// Fails if a directory of contexts is not private.
Result<std::vector<std::string>> ContextNames();

// Returns true if `run` is the context of a `canopy run` that has withdrawn it
// because its job is over. It is then no error that the agents do not answer.
bool HasEnded(const v1::Context& run);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_CHOICE_H_
