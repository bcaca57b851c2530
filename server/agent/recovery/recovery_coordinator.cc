#include "server/agent/recovery/recovery_coordinator.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/check.h"
#include "server/local/local_endpoint.h"
#include "server/openpmix/openpmix_endpoint.h"
#include "server/pmi/pmi_endpoint.h"

namespace canopy::agent {
namespace {

// Returns the descriptor of that name, or an invalid one.
UniqueFd TakeByName(std::vector<NamedFd>* held, std::string_view name) {
  const auto it = std::ranges::find(*held, name, &NamedFd::name);
  return it == held->end() ? UniqueFd() : std::move(it->fd);
}

// Takes the descriptors whose names belong to an endpoint.
std::vector<NamedFd> TakeAll(std::vector<NamedFd>* held,
                             bool (*is_own)(std::string_view name)) {
  std::vector<NamedFd> taken;
  for (NamedFd& one : *held) {
    if (one.fd && is_own(one.name)) taken.push_back(std::move(one));
  }
  return taken;
}

}  // namespace

const char* NameOf(RecoveryStage stage) {
  switch (stage) {
    case RecoveryStage::kNone:
      return "none";
    case RecoveryStage::kFindJobs:
      return "find-jobs";
    case RecoveryStage::kTakeListener:
      return "take-listener";
    case RecoveryStage::kReadControlRecords:
      return "read-control-records";
    case RecoveryStage::kRestoreJobs:
      return "restore-jobs";
    case RecoveryStage::kPersistAgain:
      return "persist-again";
    case RecoveryStage::kResumeReports:
      return "resume-reports";
    case RecoveryStage::kRestoreConnections:
      return "restore-connections";
    case RecoveryStage::kAdmitConnections:
      return "admit-connections";
  }
  return "unknown";
}

RecoveryCoordinator::RecoveryCoordinator(RecoveryActions* actions)
    : actions_(actions) {}

void RecoveryCoordinator::Complete(RecoveryStage stage) {
  CANOPY_CHECK(static_cast<int>(stage) == static_cast<int>(stage_) + 1);
  stage_ = stage;
  spdlog::debug("recovery: {} done", NameOf(stage));
}

// This stage runs before any client can connect and refer to the jobs.
void RecoveryCoordinator::FindJobs() {
  found_ = actions_->FindJobs();
  Complete(RecoveryStage::kFindJobs);
}

// Returns the listener from any shim: a node has one listener for all jobs, and
// every shim has a duplicate.
UniqueFd RecoveryCoordinator::TakeListener() {
  UniqueFd listener;
  for (process::RecoveredJob& job : found_) {
    listener = TakeByName(&job.held, openpmix::OpenPmixEndpoint::kListenerName);
    if (listener) break;
  }
  Complete(RecoveryStage::kTakeListener);
  return listener;
}

void RecoveryCoordinator::RecoverJobs() {
  ReadControlRecords();
  RestoreJobs();
  PersistAgain();
  ResumeReports();
  RestoreConnections();
  AdmitConnections();
}

void RecoveryCoordinator::ReadControlRecords() {
  std::vector<ControlledJob> jobs = actions_->ReadControlRecords();
  actions_->ExpectLaunchers(jobs);
  for (ControlledJob& job : jobs) {
    controlled_[job.persisted.job->nspace] = std::move(job);
  }
  Complete(RecoveryStage::kReadControlRecords);
}

void RecoveryCoordinator::RestoreJobs() {
  // Directories are also accepted for jobs that are added later: the
  // predecessor may have died when it had only created the directory of a job,
  // and this agent may get that job again.
  actions_->TakeOverDirectories();
  for (process::RecoveredJob& job : found_) RestoreJob(&job);
  RestoreControlledJobs();
  Complete(RecoveryStage::kRestoreJobs);
}

void RecoveryCoordinator::RestoreJob(process::RecoveredJob* job) {
  const std::string& nspace = job->job->nspace;
  core::JobRecovered recovered = actions_->ReadJob(job);
  if (const auto own = controlled_.extract(nspace)) {
    recovered.control = own.mapped().state;
    recovered.over = own.mapped().persisted.end.has_value();
  }
  actions_->OfferMailboxes(
      nspace, TakeByName(&job->held, local::LocalEndpoint::kMailboxesName));
  actions_->RestoreJob(std::move(recovered));
  // The core registers the job with the endpoints, which take the mailboxes.
  actions_->Drain();
  actions_->OfferMailboxes(nspace, UniqueFd());
  actions_->RemoveForgotten(nspace);
}

void RecoveryCoordinator::RestoreControlledJobs() {
  for (const auto& [nspace, job] : controlled_) {
    core::JobRecovered recovered;
    recovered.job = job.persisted.job;
    recovered.has_shim = false;
    recovered.control = job.state;
    recovered.over = job.persisted.end.has_value();
    actions_->RestoreJob(std::move(recovered));
  }
  controlled_.clear();
  actions_->Drain();
}

// This stage precedes the shims' reports, so that no reported state depends on
// data that only this agent has.
void RecoveryCoordinator::PersistAgain() {
  for (const process::RecoveredJob& job : found_) {
    actions_->PersistAgain(job.job->nspace);
  }
  Complete(RecoveryStage::kPersistAgain);
}

// This stage precedes the restoration of connections, because the endpoints
// identify a rank by its process.
void RecoveryCoordinator::ResumeReports() {
  for (const process::RecoveredJob& job : found_) {
    actions_->ResumeReports(job.job->nspace);
  }
  actions_->Drain();
  Complete(RecoveryStage::kResumeReports);
}

// Called after the core has recovered all jobs, because a pending request of a
// restored connection may concern several jobs.
void RecoveryCoordinator::RestoreConnections() {
  for (process::RecoveredJob& job : found_) {
    const std::string& nspace = job.job->nspace;
    actions_->RestoreOpenPmix(
        nspace,
        TakeAll(&job.held, openpmix::OpenPmixEndpoint::IsPersistedName));
    actions_->RestorePmi(nspace,
                         TakeAll(&job.held, pmi::PmiEndpoint::IsPersistedName));
  }
  actions_->Drain();
  Complete(RecoveryStage::kRestoreConnections);
}

// Called after the last job, because a connection that was not identified is
// stored with each job to which it may belong.
void RecoveryCoordinator::AdmitConnections() {
  actions_->AdmitConnections();
  actions_->Drain();
  found_.clear();
  Complete(RecoveryStage::kAdmitConnections);
}

}  // namespace canopy::agent
