// Notifies the engines of a core of each other's changes. An engine never calls
// another one in the middle of a change of its own. Instead it keeps its news
// until PropagateChanges takes it.
#ifndef CANOPY_SERVER_CORE_DISPATCH_PROPAGATION_H_
#define CANOPY_SERVER_CORE_DISPATCH_PROPAGATION_H_

#include <vector>

#include "common/ids.h"
#include "server/core/collective/groups.h"
#include "server/core/dispatch/engines.h"
#include "server/core/step/client_inputs.h"

namespace canopy::core {

// Notifies the engines of each other's changes, until there are no more. Must
// be called after each input, and within an input if an engine must not look up
// what another has removed.
void PropagateChanges(Engines& e);

// Raises the events for the clients of all agents.
void RaiseForAll(Engines& e, const std::vector<EventRaised>& raised);

// Removes the process from the group. The group may end with that, so `group`
// must not be used afterwards. If the process is local, the other members are
// notified.
void Leave(Engines& e, const Group& group, const ProcId& proc);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_PROPAGATION_H_
