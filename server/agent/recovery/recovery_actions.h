// The operations of a recovery on the agent's adapters and core.
#ifndef CANOPY_SERVER_AGENT_RECOVERY_RECOVERY_ACTIONS_H_
#define CANOPY_SERVER_AGENT_RECOVERY_RECOVERY_ACTIONS_H_

#include <string>
#include <vector>

#include "common/posix/named_fd.h"
#include "common/posix/unique_fd.h"
#include "server/agent/persistence/persistent_state.h"
#include "server/core/step/persisted_state.h"
#include "server/process/process_adapter.h"

namespace canopy::agent {

// Each function is one operation; RecoveryCoordinator calls them in order. Loop
// thread only.
class RecoveryActions {
 public:
  virtual ~RecoveryActions() = default;

  // Sends greetings to the shims of the node, and waits for at most two seconds
  // until each shim has answered or is considered dead.
  virtual std::vector<process::RecoveredJob> FindJobs() = 0;
  // Returns the jobs that the predecessor controlled.
  virtual std::vector<ControlledJob> ReadControlRecords() = 0;
  // Lets the launchers of these jobs reattach from now on.
  virtual void ExpectLaunchers(const std::vector<ControlledJob>& jobs) = 0;

  // Lets jobs that are added from now on use the directories that the
  // predecessor has created for them.
  virtual void TakeOverDirectories() = 0;
  // Reads the job's journal and old segment. Takes their descriptors.
  virtual core::JobRecovered ReadJob(process::RecoveredJob* job) = 0;
  // Offers the predecessor's commit mailboxes, which the endpoint takes when
  // the core registers the job. An invalid descriptor ends the offer.
  virtual void OfferMailboxes(const std::string& nspace,
                              UniqueFd mailboxes) = 0;
  // Queues the job as an input of the core.
  virtual void RestoreJob(core::JobRecovered job) = 0;
  // Handles all queued inputs with all their actions.
  virtual void Drain() = 0;

  // Removes what the predecessor has stored of a job that the core has dropped
  // because no agent controls it any more. Has no effect on any other job.
  virtual void RemoveForgotten(const std::string& nspace) = 0;

  // Persists the new segment, listener and journal in place of the
  // predecessor's, for the next successor. Has no effect on a job that was
  // dropped.
  virtual void PersistAgain(const std::string& nspace) = 0;
  // Makes the shim report processes, output and exits from now on.
  virtual void ResumeReports(const std::string& nspace) = 0;
  // Restores connections that the predecessor had accepted. `stored` has the
  // names under which the endpoint has stored them.
  virtual void RestoreOpenPmix(const std::string& nspace,
                               std::vector<NamedFd> stored) = 0;
  virtual void RestorePmi(const std::string& nspace,
                          std::vector<NamedFd> stored) = 0;
  // Starts the admission of connections that the predecessor had not accepted
  // yet.
  virtual void AdmitConnections() = 0;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_RECOVERY_RECOVERY_ACTIONS_H_
