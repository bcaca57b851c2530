// Which engines an input goes to.
#ifndef CANOPY_SERVER_CORE_DISPATCH_DISPATCH_H_
#define CANOPY_SERVER_CORE_DISPATCH_DISPATCH_H_

#include "server/core/dispatch/engines.h"
#include "server/core/step/input.h"

namespace canopy::core {

// To be followed by PropagateChanges: what engines have changed is not known to
// the others yet.
void Dispatch(Engines& e, const Input& input);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_DISPATCH_H_
