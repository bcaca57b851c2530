// wait: waits for the end of a job.
#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/commands/known_job.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_names.h"
#include "client/cli/control/job_target.h"
#include "client/cli/history/history_store.h"
#include "client/cli/history/process_mark.h"
#include "client/cli/options/command_line.h"

namespace canopy::cli {
namespace {

constexpr int kLookAgainMs = 100;
// The number of times that the history is read to find the end of a spawned
// job.
constexpr int kRecordLooks = 30;

int Report(const HistoryEntry& entry, bool json) {
  if (json) {
    Json out;
    out["ended"] = EndedJson(entry);
    return PrintDocument(out, static_cast<int>(entry.exit_code));
  }
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
    // The state is read first, because the launcher may record the end and then
    // end itself.
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

// Waits for the end of a job for which no launcher has an entry: until its
// agents no longer know the job, or have ended.
Status AwaitEnd(OverlayTarget* overlay, const std::string& nspace) {
  for (;;) {
    Result<std::vector<std::string>> names = JobNames(&overlay->root.client);
    if (!names.ok() && HasEnded(overlay->context)) return Status();
    if (!names.ok()) return names.status();
    if (std::ranges::count(*names, nspace) == 0) return Status();
    poll(nullptr, 0, kLookAgainMs);
  }
}

bool IsSpawned(JobTarget* job) {
  const auto jobs = job->overlay.root.client.ListJobs();
  return jobs.ok() && std::ranges::any_of(jobs->jobs(), [job](const auto& one) {
           return one.nspace() == job->nspace && !one.parent().empty();
         });
}

// Returns the entry of a spawned job that has ended. Its launcher stores the
// entry after all output, which may be later than the end. Returns no value if
// no launcher of this user has stored one after kRecordLooks.
std::optional<HistoryEntry> AwaitRecord(const HistoryStore& history,
                                        const std::string& nspace) {
  for (int i = 0; i < kRecordLooks; ++i) {
    Result<HistoryEntry> entry = history.Find(nspace);
    if (entry.ok()) return *std::move(entry);
    poll(nullptr, 0, kLookAgainMs);
  }
  return std::nullopt;
}

// Reports that the job has ended and that its exit code is not known.
int ReportUnknown(const std::string& nspace, bool json) {
  if (!json) return 0;
  HistoryEntry entry;
  entry.job = nspace;
  Json out;
  out["ended"] = EndedJson(entry);
  return PrintDocument(out);
}

int Await(const HistoryStore& history, KnownJob job, bool json) {
  const bool near =
      job.entry && StateOf(job.entry->launcher) != ProcessState::kElsewhere;
  if (job.target && !near) {
    const bool spawned = !job.entry && IsSpawned(&*job.target);
    const Status status = AwaitEnd(&job.target->overlay, job.target->nspace);
    if (!status.ok()) return Fail(status);
    if (spawned) job.entry = AwaitRecord(history, job.target->nspace);
    if (!job.entry) return ReportUnknown(job.target->nspace, json);
  }
  const Result<HistoryEntry> ended =
      AwaitLauncher(history, *std::move(job.entry));
  return ended.ok() ? Report(*ended, json) : Fail(ended.status());
}

}  // namespace

int WaitCommand(const CommandLine& line) {
  const CommandInfo info = {
      "wait",
      "JOB [options]",
      "Waits until a job has ended. If the job was started by 'canopy run',\n"
      "the exit code is that of the job, also when it has ended before.\n",
      {},
      1,
      1,
      /*prints_json=*/true,
      JobWord::kKnown};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const HistoryStore history;
  Result<KnownJob> job = FindKnownJob(history, shared.context, shared.words[0]);
  return job.ok() ? Await(history, *std::move(job), shared.json)
                  : Fail(job.status());
}

}  // namespace canopy::cli
