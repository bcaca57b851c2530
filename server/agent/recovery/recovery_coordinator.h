// The order in which an agent recovers the state that its predecessor has
// persisted.
#ifndef CANOPY_SERVER_AGENT_RECOVERY_RECOVERY_COORDINATOR_H_
#define CANOPY_SERVER_AGENT_RECOVERY_RECOVERY_COORDINATOR_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/posix/unique_fd.h"
#include "server/agent/persistence/persistent_state.h"
#include "server/agent/recovery/recovery_actions.h"
#include "server/process/process_adapter.h"

namespace canopy::agent {

// The stages in their order. docs/life_of_a_recovery.md describes for each
// stage its requirements, its results, and the fate of the jobs if the agent
// dies after it.
enum class RecoveryStage : uint8_t {
  kNone,
  kFindJobs,
  kTakeListener,
  kReadControlRecords,
  kRestoreJobs,
  kPersistAgain,
  kResumeReports,
  kRestoreConnections,
  kAdmitConnections,
};

// Returns the name of a stage for logs, such as "find-jobs".
const char* NameOf(RecoveryStage stage);

// One recovery. Each stage is called once, in the order of RecoveryStage; a
// call out of order is a defect and ends the agent. When a stage returns, all
// its effects in the core have been executed: no input remains for the next
// stage.
//
// A recovery only reads persisted state until a stage replaces it by state of
// the same meaning. So if an agent dies during a recovery, the next agent finds
// the state that its own predecessor has left. Loop thread only.
class RecoveryCoordinator {
 public:
  // `actions` outlives the coordinator.
  explicit RecoveryCoordinator(RecoveryActions* actions);

  void FindJobs();
  // Returns the socket on which the predecessor listened for OpenPMIx clients,
  // or an invalid descriptor. Called before any client can connect.
  UniqueFd TakeListener();
  void ReadControlRecords();
  void RestoreJobs();
  void PersistAgain();
  void ResumeReports();
  void RestoreConnections();
  void AdmitConnections();

  // Runs the stages from ReadControlRecords to the last. Called when the core
  // runs and its endpoints listen.
  void RecoverJobs();

  // Returns the last stage that has been completed.
  RecoveryStage stage() const { return stage_; }

 private:
  void Complete(RecoveryStage stage);
  void RestoreJob(process::RecoveredJob* job);
  // Restores jobs that have no process on this node.
  void RestoreControlledJobs();

  RecoveryActions* const actions_;
  RecoveryStage stage_ = RecoveryStage::kNone;
  std::vector<process::RecoveredJob> found_;
  // The jobs by namespace, until they are restored.
  std::map<std::string, ControlledJob> controlled_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_RECOVERY_RECOVERY_COORDINATOR_H_
