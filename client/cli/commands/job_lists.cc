#include "client/cli/commands/job_lists.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_target.h"

namespace canopy::cli {
namespace {

// A job that has not started after this number of seconds may wait for an
// agent.
constexpr uint64_t kLongStart = 2;

// Returns the line about agents that do not answer. The root always knows which
// of its neighbours are gone; a query of all agents takes time, so it is made
// only if a job waits.
std::string SilentOf(const control::v1::ListJobsReply& jobs,
                     ControlClient* root) {
  if (jobs.jobs_size() == 0) return "";
  const bool waits = std::ranges::any_of(jobs.jobs(), [](const auto& job) {
    return job.phase() == "preparing" && job.age_seconds() >= kLongStart;
  });
  const auto status = root->GetStatus(/*ask_all=*/waits);
  return status.ok() ? SilentText(*status) : "";
}

}  // namespace

int PrintSilent(const std::vector<Status>& silent) {
  int exit_code = 0;
  for (const Status& status : silent) exit_code = Fail(status);
  return exit_code;
}

Result<JobLists> ListAllJobs(const std::string& asked) {
  Result<OverlayTargets> overlays = FindOverlays(asked);
  if (!overlays.ok()) return overlays.status();
  JobLists all;
  for (OverlayTarget& overlay : overlays->answering) {
    ControlClient& root = overlay.root.client;
    Result<control::v1::ListJobsReply> jobs = root.ListJobs();
    if (!jobs.ok() && !HasEnded(overlay.context)) {
      overlays->silent.push_back(jobs.status());
    }
    if (!jobs.ok()) continue;
    for (auto& job : *jobs->mutable_jobs()) {
      job.set_context(overlay.context.name());
    }
    std::string silent = SilentOf(*jobs, &root);
    all.lists.push_back(
        {std::move(overlay.context), *std::move(jobs), std::move(silent)});
  }
  all.exit_code = PrintSilent(overlays->silent);
  return all;
}

control::v1::ListJobsReply Merged(const JobLists& all) {
  control::v1::ListJobsReply merged;
  for (const JobList& list : all.lists) merged.MergeFrom(list.jobs);
  return merged;
}

std::string SilentLines(const JobLists& all) {
  std::string lines;
  for (const JobList& list : all.lists) lines += list.silent;
  return lines;
}

}  // namespace canopy::cli
