#include "server/agent/recovery/adapter_recovery.h"

#include <utility>

#include "server/openpmix/tool_file.h"

namespace canopy::agent {

AdapterRecovery::AdapterRecovery(EventLoop* loop, AgentRuntime* runtime,
                                 LocalAdapters* adapters,
                                 PersistentState* state,
                                 control::JobManager* job_manager,
                                 std::string directory)
    : loop_(loop),
      runtime_(runtime),
      adapters_(adapters),
      state_(state),
      job_manager_(job_manager),
      directory_(std::move(directory)) {}

std::vector<process::RecoveredJob> AdapterRecovery::FindJobs() {
  // The predecessor's rendezvous files would lead tools to an agent that is
  // gone.
  openpmix::ToolFile::RemoveAll(directory_);
  std::vector<process::RecoveredJob> found;
  bool done = false;
  adapters_->process().Recover([&](std::vector<process::RecoveredJob> jobs) {
    found = std::move(jobs);
    done = true;
  });
  while (!done) loop_->RunOnce(50);
  return found;
}

std::vector<ControlledJob> AdapterRecovery::ReadControlRecords() {
  return state_->FindControlled();
}

void AdapterRecovery::ExpectLaunchers(const std::vector<ControlledJob>& jobs) {
  std::vector<control::PersistedJob> persisted;
  persisted.reserve(jobs.size());
  for (const ControlledJob& job : jobs) persisted.push_back(job.persisted);
  job_manager_->Recover(persisted);
}

void AdapterRecovery::TakeOverDirectories() {
  adapters_->datastore().TakeOverDirectories();
}

core::JobRecovered AdapterRecovery::ReadJob(process::RecoveredJob* job) {
  return state_->Read(job);
}

void AdapterRecovery::OfferMailboxes(const std::string& nspace,
                                     UniqueFd mailboxes) {
  adapters_->local().RecoverMailboxes(nspace, std::move(mailboxes));
}

void AdapterRecovery::RestoreJob(core::JobRecovered job) {
  runtime_->OnInput(std::move(job));
}

void AdapterRecovery::Drain() { runtime_->Drain(); }

void AdapterRecovery::RemoveForgotten(const std::string& nspace) {
  if (adapters_->process().Holds(nspace)) return;
  adapters_->datastore().RemoveForgotten(nspace);
  state_->DropJob(nspace);
}

void AdapterRecovery::PersistAgain(const std::string& nspace) {
  if (adapters_->process().Holds(nspace)) state_->OnRecovered(nspace);
}

void AdapterRecovery::ResumeReports(const std::string& nspace) {
  adapters_->process().ResumeReports(nspace);
}

void AdapterRecovery::RestoreOpenPmix(const std::string& nspace,
                                      std::vector<NamedFd> stored) {
  adapters_->openpmix().Recover(nspace, std::move(stored));
}

void AdapterRecovery::RestorePmi(const std::string& nspace,
                                 std::vector<NamedFd> stored) {
  adapters_->pmi().Recover(nspace, std::move(stored));
}

void AdapterRecovery::AdmitConnections() {
  adapters_->openpmix().FinishRecovery();
}

}  // namespace canopy::agent
