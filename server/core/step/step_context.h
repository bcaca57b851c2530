// The step in progress, which every engine of the core gets with each call.
#ifndef CANOPY_SERVER_CORE_STEP_STEP_CONTEXT_H_
#define CANOPY_SERVER_CORE_STEP_STEP_CONTEXT_H_

#include <utility>

#include "server/core/step/action.h"
#include "server/core/step/clock.h"
#include "server/core/step/core_event.h"

namespace canopy::core {

// Valid during one call of an engine. JobStep and PublishStep derive from this
// class and add what the classes of one engine need in each call.
struct StepContext {
  TimeNs now;                    // in nanoseconds; never decreases
  Actions& out;                  // executed in the order of the vector
  CoreEvents* events = nullptr;  // null: events are dropped

  template <typename Event>
  void Post(Event event) const {
    if (events != nullptr) events->Post(std::move(event));
  }
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_STEP_CONTEXT_H_
