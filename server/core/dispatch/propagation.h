// Hands the events that engines of a core have posted (step/core_event.h) to
// the engines that they concern.
#ifndef CANOPY_SERVER_CORE_DISPATCH_PROPAGATION_H_
#define CANOPY_SERVER_CORE_DISPATCH_PROPAGATION_H_

#include "common/ids.h"
#include "server/core/collective/groups.h"
#include "server/core/dispatch/engines.h"

namespace canopy::core {

// Handles the events in the queue, including those that are posted meanwhile.
// Must be called after each input. Must also be called within an input after an
// engine has removed an object, if an engine that has not been notified would
// look up the object.
void PropagateChanges(Engines& e);

// Removes the process from the group. The group may end with that, so `group`
// must not be used afterwards. If the process is local, the other members are
// notified.
void Leave(Engines& e, const Group& group, const ProcId& proc);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_PROPAGATION_H_
