// wait, top: the progress and the end of jobs.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/known_job.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_names.h"
#include "client/cli/control/job_target.h"
#include "client/cli/history/history_store.h"
#include "client/cli/history/process_mark.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"

namespace canopy::cli {
namespace {

constexpr int kLookAgainMs = 100;
constexpr uint32_t kMaxInterval = 3600;

int Report(const HistoryEntry& entry) {
  if (!entry.reason.empty()) {
    PrintError("job " + entry.job + ": " + entry.reason);
  }
  return static_cast<int>(entry.exit_code);
}

// Waits until the launcher of the entry has recorded the end of its job.
Result<HistoryEntry> AwaitLauncher(const HistoryStore& history,
                                   HistoryEntry entry) {
  const std::string name = entry.job;
  while (entry.ended_ms == 0) {
    // The launcher may have recorded the end before it ended itself.
    const bool gone = StateOf(entry.launcher) != ProcessState::kRuns;
    Result<HistoryEntry> now = history.Find(name);
    if (!now.ok()) return now.status();
    entry = *std::move(now);
    if (gone && entry.ended_ms == 0) {
      return Status(kErrLostConnection,
                    "the launcher of job " + name + " was ended");
    }
    if (entry.ended_ms == 0) poll(nullptr, 0, kLookAgainMs);
  }
  return entry;
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

int Await(const HistoryStore& history, KnownJob job) {
  const bool near =
      job.entry && StateOf(job.entry->launcher) != ProcessState::kElsewhere;
  if (job.target && !near) {
    const Result<int> code = AwaitEnd(&job.target->overlay, job.target->nspace);
    if (!code.ok()) return Fail(code.status());
    if (!job.entry) return *code;
  }
  const Result<HistoryEntry> ended =
      AwaitLauncher(history, *std::move(job.entry));
  return ended.ok() ? Report(*ended) : Fail(ended.status());
}

}  // namespace

int WaitCommand(const CommandLine& line) {
  const CommandInfo info = {
      "wait",
      "JOB [options]",
      "Waits until a job has ended. If the job was started by 'canopy run',\n"
      "the exit code is that of the job, also when it has ended before. JOB\n"
      "is a name shown by 'canopy ps --all', or the last part of one, such\n"
      "as 1, which is that of the youngest such job.\n",
      {},
      1,
      1,
      /*prints_json=*/false};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const HistoryStore history;
  Result<KnownJob> job = FindKnownJob(history, shared.context, shared.words[0]);
  return job.ok() ? Await(history, *std::move(job)) : Fail(job.status());
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
