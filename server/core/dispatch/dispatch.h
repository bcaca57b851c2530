// Passes each input to the engines that it concerns.
#ifndef CANOPY_SERVER_CORE_DISPATCH_DISPATCH_H_
#define CANOPY_SERVER_CORE_DISPATCH_DISPATCH_H_

#include "server/core/dispatch/engines.h"
#include "server/core/step/input.h"

namespace canopy::core {

// Passes the input to the engines that it concerns. The caller must call
// PropagateChanges afterwards, because the engines do not know each other's
// changes yet.
void Dispatch(Engines& e, const Input& input);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DISPATCH_DISPATCH_H_
