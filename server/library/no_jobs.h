// Ignores all notifications about controlled jobs, because a server of a host
// in C controls none.
#ifndef CANOPY_SERVER_LIBRARY_NO_JOBS_H_
#define CANOPY_SERVER_LIBRARY_NO_JOBS_H_

#include "server/ports/job_observer.h"

namespace canopy::library {

class NoJobs : public JobObserver {
 public:
  void OnJobChanged(const core::JobChanged&) override {}
  void OnSpawn(const core::HostSpawn&) override {}
  void OnOutput(const core::DeliverOutput&) override {}
  void OnOutputDelivered(const core::OutputDelivered&) override {}
  void OnInputConsumed(const core::InputConsumed&) override {}
  void OnStateCollected(const core::StateCollected&) override {}
  void OnJobElsewhere(const core::JobElsewhere&) override {}
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_NO_JOBS_H_
