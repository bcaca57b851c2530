// Observes the jobs that this agent controls, and those that it must know.
#ifndef CANOPY_SERVER_PORTS_JOB_OBSERVER_H_
#define CANOPY_SERVER_PORTS_JOB_OBSERVER_H_

#include "server/core/step/control_actions.h"

namespace canopy {

// Methods are called in the order of the core's actions. Inputs that an
// observer raises are queued. Loop thread only.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // Each call delivers one action of core/step/control_actions.h, which states
  // what it means and how it is answered.
  virtual void OnJobChanged(const core::JobChanged& change) = 0;
  virtual void OnSpawn(const core::HostSpawn& spawn) = 0;
  virtual void OnOutput(const core::DeliverOutput& output) = 0;
  virtual void OnOutputDelivered(const core::OutputDelivered& output) = 0;
  virtual void OnInputConsumed(const core::InputConsumed& input) = 0;
  virtual void OnStateCollected(const core::StateCollected& state) = 0;
  virtual void OnJobElsewhere(const core::JobElsewhere& job) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_JOB_OBSERVER_H_
