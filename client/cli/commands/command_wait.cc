// wait, top: the progress and the end of jobs.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_names.h"
#include "client/cli/control/job_target.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "client/cli/run/detached_jobs.h"

namespace canopy::cli {
namespace {

constexpr int kLookAgainMs = 100;
constexpr uint32_t kMaxInterval = 3600;

// Waits for a job whose launcher runs on this machine. Returns its exit code.
Result<int> AwaitLauncher(const DetachedJobs& jobs, const std::string& nspace) {
  for (;;) {
    Result<DetachedJobs::Job> job = jobs.Find(nspace);
    if (!job.ok()) return job.status();
    if (!job->exit_code) {
      const bool gone = kill(job->launcher, 0) != 0 && errno == ESRCH;
      // The launcher may have recorded the exit code between the two checks.
      if (gone) job = jobs.Find(nspace);
      if (gone && job.ok() && !job->exit_code) {
        return Status(kErrLostConnection,
                      "the launcher of job " + nspace + " was ended");
      }
    }
    if (job.ok() && job->exit_code) {
      jobs.Forget(nspace);
      return *job->exit_code;
    }
    poll(nullptr, 0, kLookAgainMs);
  }
}

// Waits for any other job until its agents no longer know it, or have ended
// with their launcher.
Result<int> AwaitEnd(OverlayTarget* overlay, const std::string& nspace) {
  for (;;) {
    Result<std::vector<std::string>> names = JobNames(&overlay->root.client);
    if (!names.ok() && HasEnded(overlay->context)) return 0;
    if (!names.ok()) return names.status();
    if (std::ranges::count(*names, nspace) == 0) return 0;
    poll(nullptr, 0, kLookAgainMs);
  }
}

}  // namespace

int WaitCommand(const CommandLine& line) {
  const CommandInfo info = {
      "wait",
      "JOB [options]",
      "Waits until a job has ended. If the job was started on this machine\n"
      "by 'canopy run --detach', the exit code is that of the job. JOB is a\n"
      "name shown by 'canopy ps', or the last part of one, such as 1; a job\n"
      "that has already ended must be given by its full name.\n",
      {},
      1,
      1,
      /*prints_json=*/false};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const DetachedJobs jobs;
  std::string nspace = shared.words[0];
  if (!jobs.Find(nspace).ok()) {
    Result<JobTarget> job = FindJobTarget(shared.context, nspace);
    if (!job.ok()) return Fail(job.status());
    nspace = job->nspace;
    if (!jobs.Find(nspace).ok()) {
      const Result<int> code = AwaitEnd(&job->overlay, nspace);
      return code.ok() ? *code : Fail(code.status());
    }
  }
  const Result<int> code = AwaitLauncher(jobs, nspace);
  return code.ok() ? *code : Fail(code.status());
}

int TopCommand(const CommandLine& line) {
  uint32_t interval = 2;
  uint32_t count = 0;
  const CommandInfo info = {
      "top",
      "[options]",
      "Shows the tree of agents and the jobs, and refreshes them "
      "periodically.\n",
      {{"interval d", 1, "SECONDS", "time between refreshes (default: 2)",
        SetNumber(&interval, 1, kMaxInterval)},
       {"count n", 1, "N",
        "stop after showing them N times (default: run until\n"
        "interrupted)",
        SetNumber(&count, 1, UINT32_MAX)}},
      0,
      0,
      /*prints_json=*/false};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  Result<OverlayTarget> overlay = FindOverlay(shared.context);
  if (!overlay.ok()) return Fail(overlay.status());
  ControlClient& root = overlay->root.client;
  const std::string& name = overlay->context.name();
  const char* const clear = isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "";
  for (uint32_t i = 0; count == 0 || i < count; ++i) {
    if (i > 0) poll(nullptr, 0, static_cast<int>(interval) * 1000);
    auto status = root.GetStatus();
    auto jobs = status.ok()
                    ? root.ListJobs()
                    : Result<control::v1::ListJobsReply>(status.status());
    if (!jobs.ok()) return HasEnded(overlay->context) ? 0 : Fail(jobs.status());
    const std::string text = clear + StatusText(name, *status, ShowsUtf8()) +
                             "\n" + JobsText(*jobs, /*contexts=*/false);
    if (!WriteAll(STDOUT_FILENO, text)) return kExitFailure;
  }
  return 0;
}

}  // namespace canopy::cli
