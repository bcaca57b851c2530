#include "server/control/job_starter.h"

#include "server/core/step/control_inputs.h"

namespace canopy::control {

void JobStarter::Begin(const JobRecord& record, const Preload& preload,
                       bool check_only) {
  if (preload.wanted) return staging_->Begin(record.job, preload.source);
  const Status status = Start(record, check_only);
  if (!status.ok()) failed_(record.job->nspace, status);
}

Status JobStarter::Start(const JobRecord& record, bool check_only) {
  Family* const family = families_->FindFamily(record.family);
  LaunchPersistence* const persistence = families_->persistence();
  const bool persisted =
      persistence != nullptr && !record.token.empty() &&
      persistence->PersistLaunch(*record.job, record.token, record.facts);
  if (record.facts.spawn_request && !record.token.empty() && !persisted) {
    return Status(kErrJobSysOpFailed, "it could not be recorded");
  }
  if (persisted) family->token = record.token;
  sink_->OnInput(core::LaunchRequested{record.job, persisted, check_only});
  return Status();
}

void JobStarter::OnFilesCopied(const std::string& nspace, Status status) {
  const JobRecord* const job = families_->FindJob(nspace);
  if (job == nullptr) return;
  if (status.ok()) status = Start(*job, false);
  if (!status.ok()) failed_(nspace, status);
}

}  // namespace canopy::control
