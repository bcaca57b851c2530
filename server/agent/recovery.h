// What an agent leaves with its jobs' shims for the next agent of its node, and
// what it finds there.
#ifndef CANOPY_SERVER_AGENT_RECOVERY_H_
#define CANOPY_SERVER_AGENT_RECOVERY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/posix/unique_fd.h"
#include "server/agent/control_records.h"
#include "server/agent/journal.h"
#include "server/control/job_controller.h"
#include "server/core/step/kept_state.h"
#include "server/core/step/log_line.h"
#include "server/datastore/datastore.h"
#include "server/process/process_adapter.h"
#include "server/runtime/runtime.h"

namespace canopy::agent {

// A job that the former agent controlled.
struct ControlledJob {
  control::KeptJob kept;
  Bytes state;  // as RememberControl had it; empty: not yet
};

// Loop thread only. Both adapters outlive it. What was known of a job's
// processes is in memory that its shim holds; of a job that is controlled here,
// which may have no process here, it is in a file in `directory`.
class Recovery : public RecoveryPort, public control::JobKeeper {
 public:
  // `listener`: where programs with an OpenPMIx library of their own connect,
  // so that they can do so at any time.
  Recovery(process::ProcessAdapter* process, datastore::Datastore* datastore,
           const std::string& directory, std::function<int()> listener,
           std::function<void(const core::LogLine&)> log);

  void AddJob(const std::string& nspace) override;
  void Keep(const core::Remember& record) override;
  void Keep(const core::RememberControl& record) override;
  void DropJob(const std::string& nspace) override;

  bool KeepLaunch(const JobSpec& job, const std::string& token) override;
  void KeepEnd(const std::string& nspace, const std::string& end) override;
  void DropControl(const std::string& nspace) override;
  // There will be no next agent.
  void DropAllControl() { control_.DropAll(); }
  // Jobs that the former agent controlled.
  std::vector<ControlledJob> FindControlled();

  // A job's commit boxes, which the next agent goes on with.
  void HoldBoxes(const std::string& nspace, UniqueFd boxes);
  // Those of a job that was found; invalid when there are none.
  static UniqueFd FormerBoxes(process::RecoveredJob* job);

  // What is told to the core about a job that was found. Takes its
  // descriptors.
  core::JobRecovered Read(process::RecoveredJob* job);
  // The core has taken it: keeps the new segment instead of the old one.
  void Adopted(const std::string& nspace);

 private:
  void HoldListener(const std::string& nspace);
  void HoldSegment(const std::string& nspace);
  void HoldJournal(const std::string& nspace);
  void Warn(std::string text);

  process::ProcessAdapter* const process_;
  datastore::Datastore* const datastore_;
  const std::function<int()> listener_;
  const std::function<void(const core::LogLine&)> log_;
  ControlRecords control_;
  std::map<std::string, std::unique_ptr<Journal>> journals_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_RECOVERY_H_
