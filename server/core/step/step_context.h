// What an engine of the core needs of the step in progress.
#ifndef CANOPY_SERVER_CORE_STEP_STEP_CONTEXT_H_
#define CANOPY_SERVER_CORE_STEP_STEP_CONTEXT_H_

#include "server/core/step/action.h"
#include "server/core/step/clock.h"

namespace canopy::core {

// Valid during one call of an engine. Actions are executed in the order in
// which they were appended.
struct StepContext {
  TimeNs now;
  Actions& out;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_STEP_CONTEXT_H_
