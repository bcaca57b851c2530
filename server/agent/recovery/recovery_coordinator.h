// The order in which an agent recovers what its predecessor has persisted.
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

// In their order; docs/life_of_a_recovery.md has what each needs, what it
// leaves behind, and what becomes of the jobs when the agent dies after it.
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

// "find-jobs", for logs.
const char* NameOf(RecoveryStage stage);

// One recovery. Each stage is called once, in the order of RecoveryStage; one
// out of order is a defect and ends the agent. All that a stage has caused in
// the core has been executed when it returns: no input is left for the next.
//
// Until a stage replaces something that is persisted, with something of the
// same meaning, a recovery only reads. So an agent that dies in the middle of
// one leaves to the next what its own predecessor left to it. Loop thread.
class RecoveryCoordinator {
 public:
  // `actions` outlives the coordinator.
  explicit RecoveryCoordinator(RecoveryActions* actions);

  void FindJobs();
  // The socket on which the predecessor listened for OpenPMIx clients; invalid
  // when it had none. To be called before anybody can connect.
  UniqueFd TakeListener();
  void ReadControlRecords();
  void RestoreJobs();
  void PersistAgain();
  void ResumeReports();
  void RestoreConnections();
  void AdmitConnections();

  // From ReadControlRecords to the end: the core runs, and its endpoints
  // listen.
  void RecoverJobs();

  // The last that has been completed.
  RecoveryStage stage() const { return stage_; }

 private:
  void Complete(RecoveryStage stage);
  void RestoreJob(process::RecoveredJob* job);
  // Jobs that have no process on this node.
  void RestoreControlledJobs();

  RecoveryActions* const actions_;
  RecoveryStage stage_ = RecoveryStage::kNone;
  std::vector<process::RecoveredJob> found_;
  // By namespace, until they are restored.
  std::map<std::string, ControlledJob> controlled_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_RECOVERY_RECOVERY_COORDINATOR_H_
