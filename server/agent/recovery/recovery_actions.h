// What a recovery acts upon: the adapters of the agent and its core.
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

// Each function is one thing done; RecoveryCoordinator has the order. Loop
// thread.
class RecoveryActions {
 public:
  virtual ~RecoveryActions() = default;

  // Greets the shims of the node, and waits until each has answered or is taken
  // for dead: two seconds at most.
  virtual std::vector<process::RecoveredJob> FindJobs() = 0;
  // The jobs that the predecessor controlled.
  virtual std::vector<ControlledJob> ReadControlRecords() = 0;
  // The launchers of these jobs may reattach from now on.
  virtual void ExpectLaunchers(const std::vector<ControlledJob>& jobs) = 0;

  // From now on, directories of jobs that are added may be the predecessor's.
  virtual void TakeOverDirectories() = 0;
  // The job's journal and old segment. Takes their descriptors.
  virtual core::JobRecovered ReadJob(process::RecoveredJob* job) = 0;
  // The predecessor's commit mailboxes, which the endpoint takes when the core
  // registers the job. Invalid: there are none, or none any more.
  virtual void OfferMailboxes(const std::string& nspace,
                              UniqueFd mailboxes) = 0;
  // An input of the core.
  virtual void RestoreJob(core::JobRecovered job) = 0;
  // Every input that was queued, with all its actions.
  virtual void Drain() = 0;

  // What the predecessor has left of a job that the core has forgotten, as
  // nobody controls it any more. No effect on any other job.
  virtual void RemoveForgotten(const std::string& nspace) = 0;

  // The successor's segment, listener and journal in place of the
  // predecessor's, for the next one. No effect on a job that is forgotten.
  virtual void PersistAgain(const std::string& nspace) = 0;
  // The shim reports processes, output and exits from now on.
  virtual void ResumeReports(const std::string& nspace) = 0;
  // Connections that had been accepted, by the names under which the endpoint
  // has stored them.
  virtual void RestoreOpenPmix(const std::string& nspace,
                               std::vector<NamedFd> stored) = 0;
  virtual void RestorePmi(const std::string& nspace,
                          std::vector<NamedFd> stored) = 0;
  // Connections that had not been accepted start anew.
  virtual void AdmitConnections() = 0;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_RECOVERY_RECOVERY_ACTIONS_H_
