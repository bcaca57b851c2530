// What an agent leaves with its jobs' shims for the next agent of its node, and
// what it finds there.
#ifndef CANOPY_SERVER_AGENT_RECOVERY_H_
#define CANOPY_SERVER_AGENT_RECOVERY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/agent/journal.h"
#include "server/datastore/datastore.h"
#include "server/process/process_adapter.h"
#include "server/runtime/runtime.h"

namespace canopy::agent {

// Loop thread only. Both adapters outlive it.
class Recovery : public RecoveryPort {
 public:
  // `listener`: where programs with an OpenPMIx library of their own connect,
  // so that they can do so at any time.
  Recovery(process::ProcessAdapter* process, datastore::Datastore* datastore,
           std::function<int()> listener,
           std::function<void(const core::LogLine&)> log);

  void AddJob(const std::string& nspace) override;
  void Keep(const core::Remember& record) override;
  void DropJob(const std::string& nspace) override;

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
  std::map<std::string, std::unique_ptr<Journal>> journals_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_RECOVERY_H_
