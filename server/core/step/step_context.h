// The context of the step in progress, which the core's engines get.
#ifndef CANOPY_SERVER_CORE_STEP_STEP_CONTEXT_H_
#define CANOPY_SERVER_CORE_STEP_STEP_CONTEXT_H_

#include <utility>

#include "server/core/step/action.h"
#include "server/core/step/clock.h"
#include "server/core/step/core_event.h"

namespace canopy::core {

// Valid during one call of an engine. Actions are executed in the order in
// which they were appended.
struct StepContext {
  TimeNs now;
  Actions& out;
  CoreEvents* events = nullptr;  // null: events are dropped

  template <typename Event>
  void Post(Event event) const {
    if (events != nullptr) events->Post(std::move(event));
  }
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_STEP_CONTEXT_H_
