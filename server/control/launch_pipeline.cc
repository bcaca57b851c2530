#include "server/control/launch_pipeline.h"

#include "server/control/placement_request.h"
#include "server/core/step/control_inputs.h"

namespace canopy::control {
namespace {

constexpr uint32_t kMaxUnusableGrants = 4;

// Returns the status with words about the grant before its text, because the
// mapper's advice for users alone does not fit a grant that was too small.
Status OfGrant(const Status& why) {
  return {why.code(), "the scheduler's grant cannot be used: " + why.message()};
}

// Returns true if the grant has caused the failure, so that another grant may
// help. The spawner of a job decides itself how to react to a refusal.
bool AsksAgain(const QueuedJob& request, const Placed& placed,
               const Status& status) {
  const bool is_of_grant = status.code() == kErrJobAllocFailed ||
                           status.code() == kErrJobInsufficientResources;
  return is_of_grant && !placed.grant.nodes.empty() && request.launcher != 0 &&
         request.unusable_grants + 1 < kMaxUnusableGrants;
}

}  // namespace

void LaunchPipeline::Ask(QueuedJob request, bool is_placed, Answers answers) {
  const PlacementRequest& asked = request.request;
  if (is_placed) {
    const Placed placed{asked.id, {}, asked.since_ms, asked.give_up};
    return Begin(std::move(request), placed, answers);
  }
  UserLoad more{1, NumProcs(asked)};
  // A job that alone has too many processes usually has too few slots as well,
  // which the mapper reports. MayRecord refuses it otherwise.
  if (more.procs > limits().procs) more.procs = 0;
  const Status may = MayAdd(asked.caller.uid, more);
  if (!may.ok()) return answers.refuse(may);
  Placements::Decided decided = Continue(request, std::move(answers));
  placements_->Ask(std::move(request), std::move(decided));
}

Status LaunchPipeline::MayAdd(uint32_t uid, const UserLoad& more) const {
  return CheckUserLimits(
      uid, LoadOf(uid, families_->known_jobs(), *placements_), more, limits());
}

UserLimits LaunchPipeline::limits() const {
  return planner_->limits ? planner_->limits() : UserLimits();
}

Status LaunchPipeline::MayRecord(const JobSpec& job) const {
  return MayAdd(job.uid, {1, job.procs.size()});
}

Placements::Decided LaunchPipeline::Continue(QueuedJob request,
                                             Answers answers) {
  return [this, request = std::move(request),
          answers = std::move(answers)](const Result<Placed>& placed) {
    if (!placed.ok()) return answers.refuse(placed.status());
    Begin(request, *placed, answers);
  };
}

void LaunchPipeline::Begin(QueuedJob request, const Placed& placed,
                           const Answers& answers) {
  const Status status = answers.begin(placed);
  if (status.ok()) return;
  placements_->ReleaseUnused(placed, request.request, status);
  if (!AsksAgain(request, placed, status)) {
    return answers.refuse(request.unusable_grants > 0 ? OfGrant(status)
                                                      : status);
  }
  ++request.unusable_grants;
  ++request.request.id.attempt;
  request.request.again = true;
  Placements::Decided decided = Continue(request, answers);
  placements_->AskAgain(std::move(request), OfGrant(status),
                        std::move(decided));
}

JobRecord& LaunchPipeline::Record(MappedJob mapped, Family* family) {
  const auto job =
      std::make_shared<const JobSpec>(WithCopies(*mapped.job, mapped.preload));
  if (mapped.preload.wanted) {
    files_[job->nspace] = std::move(mapped.preload.source);
  }
  Family* const home =
      family == nullptr ? families_->AddFamily(job->nspace) : family;
  JobRecord& record = families_->AddJob(home, job, mapped.facts);
  record.prepares = true;
  return record;
}

void LaunchPipeline::Forget(const std::string& nspace) {
  files_.erase(nspace);
  const JobRecord record = families_->RemoveJob(nspace);
  Family* const family = families_->FindFamily(record.family);
  family->OnEnded(nspace, v1::JobEnd());
  // The family can be over only if it was added for this job of a tool.
  if (family->over()) families_->RemoveFamily(record.family);
}

void LaunchPipeline::Start(const std::string& nspace, bool check_only) {
  const JobRecord& record = *families_->FindJob(nspace);
  placements_->Launched(record, /*recovered=*/false);
  const auto files = files_.extract(nspace);
  if (!files.empty()) return staging_->Begin(record.job, files.mapped());
  const Status status = Launch(record, check_only);
  if (!status.ok()) failed_(nspace, status);
}

void LaunchPipeline::Fail(const std::string& nspace, const Status& why) {
  files_.erase(nspace);
  placements_->Launched(*families_->FindJob(nspace), /*recovered=*/false);
  failed_(nspace, why);
}

Status LaunchPipeline::Launch(const JobRecord& record, bool check_only) {
  Family* const family = families_->FindFamily(record.family);
  LaunchPersistence* const persistence = families_->persistence();
  bool persisted = false;
  if (persistence != nullptr && !record.token.empty()) {
    const Status status =
        persistence->PersistLaunch(*record.job, record.token, record.facts);
    persisted = status.ok();
    if (!persisted) families_->Notice(record.job->nspace, status.message());
  }
  if (record.facts.spawn_request && !record.token.empty() && !persisted) {
    return Status(kErrJobSysOpFailed, "it could not be recorded");
  }
  if (persisted) family->token = record.token;
  sink_->OnInput(core::LaunchRequested{record.job, persisted, check_only});
  return Status();
}

void LaunchPipeline::OnFilesCopied(const std::string& nspace, Status status) {
  const JobRecord* const job = families_->FindJob(nspace);
  if (job == nullptr) return;
  if (status.ok()) status = Launch(*job, false);
  if (!status.ok()) failed_(nspace, status);
}

}  // namespace canopy::control
