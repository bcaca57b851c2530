// What a server of a host in C does not do: it controls no jobs, and what
// processes ask of the host is asked before it comes to the core.
#ifndef CANOPY_SERVER_LIBRARY_NO_JOBS_H_
#define CANOPY_SERVER_LIBRARY_NO_JOBS_H_

#include <string>

#include "common/status.h"
#include "server/core/step/host.h"
#include "server/ports/host_port.h"
#include "server/ports/input_sink.h"
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
};

// Loop thread only; the sink outlives it.
class NoHost : public HostPort {
 public:
  explicit NoHost(InputSink* sink) : sink_(sink) {}

  void Ask(const core::AskHost& request) override {
    sink_->OnInput(core::HostAnswered{request.number, kErrNotSupported, {}});
  }
  void DropJob(const std::string&) override {}

 private:
  InputSink* const sink_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_NO_JOBS_H_
