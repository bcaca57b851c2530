// The recovery of this agent's adapters and core.
#ifndef CANOPY_SERVER_AGENT_RECOVERY_ADAPTER_RECOVERY_H_
#define CANOPY_SERVER_AGENT_RECOVERY_ADAPTER_RECOVERY_H_

#include <string>
#include <vector>

#include "common/event_loop.h"
#include "server/agent/persistence/persistent_state.h"
#include "server/agent/recovery/recovery_actions.h"
#include "server/agent/wiring/local_adapters.h"
#include "server/control/job_manager.h"
#include "server/runtime/runtime.h"

namespace canopy::agent {

// The arguments of the constructor outlive this object. Loop thread only.
class AdapterRecovery : public RecoveryActions {
 public:
  AdapterRecovery(EventLoop* loop, AgentRuntime* runtime,
                  LocalAdapters* adapters, PersistentState* state,
                  control::JobManager* job_manager, std::string directory);

  std::vector<process::RecoveredJob> FindJobs() override;
  std::vector<ControlledJob> ReadControlRecords() override;
  void ExpectLaunchers(const std::vector<ControlledJob>& jobs) override;
  void TakeOverDirectories() override;
  core::JobRecovered ReadJob(process::RecoveredJob* job) override;
  void OfferMailboxes(const std::string& nspace, UniqueFd mailboxes) override;
  void RestoreJob(core::JobRecovered job) override;
  void Drain() override;
  void RemoveForgotten(const std::string& nspace) override;
  void PersistAgain(const std::string& nspace) override;
  void ResumeReports(const std::string& nspace) override;
  void RestoreOpenPmix(const std::string& nspace,
                       std::vector<NamedFd> stored) override;
  void RestorePmi(const std::string& nspace,
                  std::vector<NamedFd> stored) override;
  void AdmitConnections() override;

 private:
  EventLoop* const loop_;
  AgentRuntime* const runtime_;
  LocalAdapters* const adapters_;
  PersistentState* const state_;
  control::JobManager* const job_manager_;
  const std::string directory_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_RECOVERY_ADAPTER_RECOVERY_H_
