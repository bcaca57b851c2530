// How the engines of a core learn of each other's changes: none calls another
// while it changes itself, so each keeps what it has to tell until it is asked.
#ifndef CANOPY_SERVER_CORE_DISPATCH_PROPAGATION_H_
#define CANOPY_SERVER_CORE_DISPATCH_PROPAGATION_H_

#include <vector>

#include "common/ids.h"
#include "server/core/collective/groups.h"
#include "server/core/dispatch/engines.h"
#include "server/core/step/client_inputs.h"

namespace canopy::core {

// Notifies the engines of each other's changes, until nothing changes any more.
// To be called after each input, and within one where an engine must not look
// up what another has removed.
void PropagateChanges(Engines& e);

// This agent raises them for all.
void RaiseForAll(Engines& e, const std::vector<EventRaised>& raised);

// The process leaves the group, which may end with it: `group` is not to be
// used any more. The others are told when the process is of this node.
void Leave(Engines& e, const Group& group, const ProcId& proc);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_PROPAGATION_H_
