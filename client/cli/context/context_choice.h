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

// Finds the context for a command that launches: the named context, or without
// a name the overlay that ChooseContext chooses (context_store.h). Returns no
// value if no context is named and no overlay is up. The agents of another
// `canopy run` are chosen only by name.
Result<std::optional<v1::Context>> FindContext(const std::string& asked);

// Like FindContext, for a command that changes a whole overlay. Returns
// kErrNotFound if FindContext returns no value.
Result<v1::Context> NeedOverlay(const std::string& asked);

// Like FindContext, for a command that inspects one context. If no context is
// named and no overlay is up, returns the run that ChooseRun chooses
// (run_choice.h). Returns kErrNotFound if there is no run either, and
// kErrBadParam with a list if several contexts match.
Result<v1::Context> NeedContext(const std::string& asked);

// The contexts for a command that inspects jobs: only the named context, or
// without a name all overlays and runs of this user. Inside the allocation of a
// batch system, the overlays of other allocations are omitted.
struct Contexts {
  std::vector<v1::Context> all;
  // True if NeedContext returns the first context.
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

// Returns true if a `canopy run` has withdrawn its context `run`, because the
// job is over. The agents then need not answer.
bool HasEnded(const v1::Context& run);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_CONTEXT_CHOICE_H_
