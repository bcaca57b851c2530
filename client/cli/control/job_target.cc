#include "client/cli/control/job_target.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_names.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

// Connects to the root of the context. Returns no value if the context is a run
// that has ended.
Result<std::optional<OverlayTarget>> Connect(const v1::Context& context) {
  Result<RootAgent> root = ConnectRoot(context);
  if (root.ok()) return std::optional(OverlayTarget{context, *std::move(root)});
  if (HasEnded(context)) return std::optional<OverlayTarget>();
  return root.status();
}

// Searches contexts for one job.
class JobSearch {
 public:
  explicit JobSearch(const std::string& word) : word_(word) {}

  // Returns the job that the word names in this context.
  Result<JobTarget> In(const v1::Context& context) {
    Result<std::optional<OverlayTarget>> overlay = Connect(context);
    if (!overlay.ok()) return Silent(overlay.status());
    if (!overlay->has_value()) return None();
    const auto jobs = (*overlay)->root.client.ListJobs();
    if (!jobs.ok()) return HasEnded(context) ? None() : Silent(jobs.status());
    Result<std::string> job = ChooseJob(*jobs, word_);
    for (std::string& name : NamesOf(*jobs)) known_.push_back(std::move(name));
    if (!job.ok()) return job.status();
    JobTarget target{**std::move(overlay), *std::move(job)};
    FindController(*jobs, &target);
    return target;
  }

  // Returns the only job that the word names in these contexts.
  Result<JobTarget> InAll(std::span<const v1::Context> contexts) {
    std::vector<JobTarget> found;
    for (const v1::Context& context : contexts) {
      Result<JobTarget> job = In(context);
      if (job.ok()) found.push_back(*std::move(job));
      if (job.code() == kErrBadParam) return job.status();
    }
    if (found.size() == 1) return std::move(found[0]);
    if (found.size() > 1) return Ambiguous(found);
    if (known_.empty() && silent_) return *silent_;
    const Status none = ChooseJob(known_, word_).status();
    if (!silent_) return none;
    return Status(none.code(), none.message() + "; " + silent_->message());
  }

 private:
  // Replaces the leader by the agent that controls the job. If there is no way
  // to that agent from here, the leader serves what it can.
  static void FindController(const control::v1::ListJobsReply& jobs,
                             JobTarget* target) {
    const auto job = std::ranges::find(jobs.jobs(), target->nspace,
                                       &control::v1::JobStatus::nspace);
    if (job == jobs.jobs().end() || job->controller().empty()) return;
    Result<RootAgent> controller =
        ConnectMember(target->overlay.context, job->controller());
    if (controller.ok()) target->overlay.root = *std::move(controller);
  }

  static Status None() { return Status(kErrNotFound, "the run has ended"); }

  Status Silent(const Status& status) {
    if (!silent_) silent_ = status;
    return status;
  }

  Status Ambiguous(std::span<const JobTarget> found) const {
    std::vector<std::string> names;
    for (const JobTarget& job : found) {
      names.push_back(job.nspace + " of " + job.overlay.context.name());
    }
    return Status(kErrBadParam,
                  "'" + word_ + "' can mean " + Join(names, ", "));
  }

  const std::string& word_;
  std::vector<std::string> known_;
  std::optional<Status> silent_;
};

}  // namespace

Result<OverlayTarget> FindOverlay(const std::string& asked) {
  Result<v1::Context> context = NeedContext(asked);
  if (!context.ok()) return context.status();
  Result<RootAgent> root = ConnectRoot(*context);
  if (!root.ok()) return root.status();
  return OverlayTarget{*std::move(context), *std::move(root)};
}

Result<OverlayTargets> FindOverlays(const std::string& asked) {
  const Result<Contexts> contexts = FindContexts(asked);
  if (!contexts.ok()) return contexts.status();
  OverlayTargets targets;
  for (const v1::Context& context : contexts->all) {
    Result<std::optional<OverlayTarget>> overlay = Connect(context);
    if (!overlay.ok()) {
      targets.silent.push_back(overlay.status());
    } else if (overlay->has_value()) {
      targets.answering.push_back(**std::move(overlay));
    }
  }
  return targets;
}

Result<JobTarget> FindJobTarget(const std::string& asked,
                                const std::string& word) {
  const Result<Contexts> contexts = FindContexts(asked);
  if (!contexts.ok()) return contexts.status();
  std::span<const v1::Context> rest = contexts->all;
  if (rest.empty()) return NoContext();
  JobSearch search(word);
  if (contexts->first_is_chosen) {
    Result<JobTarget> job = search.In(rest[0]);
    if (job.ok() || job.code() == kErrBadParam || rest.size() == 1) return job;
    rest = rest.subspan(1);
  }
  return search.InAll(rest);
}

}  // namespace canopy::cli
