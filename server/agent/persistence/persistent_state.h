// The state that an agent persists with its jobs' shims and in files, and that
// its successor recovers.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_PERSISTENT_STATE_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_PERSISTENT_STATE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/posix/unique_fd.h"
#include "server/agent/persistence/control_records.h"
#include "server/agent/persistence/journal.h"
#include "server/control/job_record.h"
#include "server/core/step/log_line.h"
#include "server/core/step/persisted_state.h"
#include "server/datastore/datastore.h"
#include "server/ports/fd_store_port.h"
#include "server/ports/persistence_port.h"
#include "server/process/process_adapter.h"

namespace canopy::agent {

// A job that the predecessor controlled.
struct ControlledJob {
  control::PersistedJob persisted;
  Bytes state;  // state of PersistControlState; may be empty
};

// The state of a job's processes is in memory files that the job's shim holds.
// The state of a job that this agent controls is in a file in `directory`; such
// a job may have no process on this node. Loop thread only; the store and the
// datastore outlive this object.
class PersistentState : public PersistencePort,
                        public control::LaunchPersistence {
 public:
  // `listener` returns the socket on which OpenPMIx clients connect. The shims
  // hold this socket, so that clients can connect at any time.
  PersistentState(FdStorePort* fd_store, datastore::Datastore* datastore,
                  const std::string& directory, std::function<int()> listener,
                  std::function<void(const core::LogLine&)> log);

  void AddJob(const std::string& nspace) override;
  void Persist(const core::PersistRecord& record) override;
  void Persist(const core::PersistControlState& record) override;
  void DropJob(const std::string& nspace) override;

  Status PersistLaunch(const JobSpec& job, const std::string& token,
                       const control::LaunchFacts& facts) override;
  void PersistFacts(const std::string& nspace,
                    const control::LaunchFacts& facts) override;
  void PersistOutput(const std::string& nspace,
                     const std::string& state) override;
  void PersistEnd(const std::string& nspace, const std::string& end) override;
  void DropControl(const std::string& nspace) override;
  // Removes the records of controlled jobs. Called if there will be no
  // successor.
  void DropAllControl() { control_.DropAll(); }
  // Returns the jobs that the predecessor controlled.
  std::vector<ControlledJob> FindControlled();

  // Returns the core's input for a recovered job. Takes the job's descriptors.
  core::JobRecovered Read(process::RecoveredJob* job);
  // Persists the new segment of a job in place of the predecessor's. Called
  // when the core has registered the job.
  void OnRecovered(const std::string& nspace);

 private:
  void HoldListener(const std::string& nspace);
  void HoldSegment(const std::string& nspace);
  void HoldJournal(const std::string& nspace);
  void Warn(std::string text);

  FdStorePort* const fd_store_;
  datastore::Datastore* const datastore_;
  const std::function<int()> listener_;
  const std::function<void(const core::LogLine&)> log_;
  ControlRecords control_;
  std::map<std::string, std::unique_ptr<Journal>> journals_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_PERSISTENT_STATE_H_
