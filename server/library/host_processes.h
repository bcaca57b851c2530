// Processes that a host in C starts, monitors and ends. The core gets the
// notifications for which it waits; all other commands have no effect.
#ifndef CANOPY_SERVER_LIBRARY_HOST_PROCESSES_H_
#define CANOPY_SERVER_LIBRARY_HOST_PROCESSES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_port.h"

namespace canopy::library {

// Loop thread only. The sink outlives this object.
class HostProcesses : public ProcessPort {
 public:
  explicit HostProcesses(InputSink* sink) : sink_(sink) {}

  void Prepare(const core::PrepareLocal& job) override;
  void Start(const core::StartLocal& start) override;
  void Restart(const core::RestartLocal&) override {}
  void Signal(const core::SignalLocal&) override {}
  void Kill(const core::KillLocal&) override {}
  void Forget(const std::string& nspace) override { ranks_.erase(nspace); }
  void Credit(const core::CreditOutput&) override {}
  void ResendOutput(const std::string&) override {}
  void Feed(const core::FeedInput&) override {}

  // Reports the job's local processes as ended, because the host has finished
  // the job.
  void End(const std::string& nspace);

 private:
  InputSink* const sink_;
  std::map<std::string, std::vector<Rank>> ranks_;  // of this node, by job
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOST_PROCESSES_H_
