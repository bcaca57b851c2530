// kill, signal: send signals to the processes of a job.
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_names.h"
#include "client/cli/control/job_target.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"

namespace canopy::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kGrace = std::chrono::seconds(5);
constexpr auto kKilled = std::chrono::seconds(10);
constexpr int kLookAgainMs = 50;

// The jobs of one context that are to end.
struct Victims {
  OverlayTarget overlay;
  std::vector<std::string> jobs;
};

void Add(JobTarget job, std::vector<Victims>* all) {
  const auto same = std::ranges::find_if(*all, [&job](const Victims& one) {
    return one.overlay.context.name() == job.overlay.context.name();
  });
  if (same == all->end()) {
    all->push_back({std::move(job.overlay), {std::move(job.nspace)}});
  } else {
    same->jobs.push_back(std::move(job.nspace));
  }
}

Result<std::vector<Victims>> NamedJobs(const SharedOptions& shared) {
  std::vector<Victims> all;
  for (const std::string& word : shared.words) {
    Result<JobTarget> job = FindJobTarget(shared.context, word);
    if (!job.ok()) return job.status();
    Add(*std::move(job), &all);
  }
  return all;
}

Result<std::vector<Victims>> AllJobs(const SharedOptions& shared) {
  Result<OverlayTarget> overlay = FindOverlay(shared.context);
  if (!overlay.ok()) return overlay.status();
  Result<std::vector<std::string>> names = JobNames(&overlay->root.client);
  if (!names.ok()) return names.status();
  std::vector<Victims> all;
  all.push_back({*std::move(overlay), *std::move(names)});
  return all;
}

// Returns true if none of the jobs exists any more.
Result<bool> AreGone(Victims* victims) {
  Result<std::vector<std::string>> names =
      JobNames(&victims->overlay.root.client);
  // The agents of a `canopy run` end with its job.
  if (!names.ok() && HasEnded(victims->overlay.context)) return true;
  if (!names.ok()) return names.status();
  return std::ranges::none_of(victims->jobs, [&](const std::string& job) {
    return std::ranges::count(*names, job) > 0;
  });
}

// Waits until none of the jobs exists any more. Returns false if `limit` has
// passed.
Result<bool> WaitGone(std::vector<Victims>* all, std::chrono::seconds limit) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    bool gone = true;
    for (Victims& victims : *all) {
      Result<bool> these = AreGone(&victims);
      if (!these.ok()) return these;
      gone = gone && *these;
    }
    if (gone || Clock::now() >= deadline) return gone;
    poll(nullptr, 0, kLookAgainMs);
  }
}

Status SendTo(std::vector<Victims>* all, int signal) {
  for (Victims& victims : *all) {
    for (const std::string& job : victims.jobs) {
      Status status = victims.overlay.root.client.SignalJob(job, signal);
      if (status.ok() || status.code() == kErrNotFound) continue;
      if (!HasEnded(victims.overlay.context)) return status;
    }
  }
  return Status();
}

// Ends the jobs: with SIGTERM and then, after the grace time, with SIGKILL; or
// with SIGKILL at once if `now`. Sets `*sent` to the last signal that was sent.
Status EndJobs(std::vector<Victims>* all, bool now, int* sent) {
  *sent = now ? SIGKILL : SIGTERM;
  if (!now) {
    if (Status s = SendTo(all, SIGTERM); !s.ok()) return s;
    Result<bool> gone = WaitGone(all, kGrace);
    if (!gone.ok() || *gone) return gone.status();
  }
  *sent = SIGKILL;
  if (Status s = SendTo(all, SIGKILL); !s.ok()) return s;
  Result<bool> gone = WaitGone(all, kKilled);
  if (!gone.ok() || *gone) return gone.status();
  return Status(kErrTimeout, "processes of job " + all->front().jobs[0] +
                                 " do not end although they were killed");
}

// Prints the document if -o json is given; otherwise success prints nothing.
int Done(const SharedOptions& shared, const std::vector<std::string>& jobs,
         int signal) {
  if (!shared.json) return 0;
  Json out;
  out["jobs"] = jobs;
  out["signal"] = signal;
  out["signal_name"] = SignalName(signal);
  return PrintDocument(out);
}

}  // namespace

int KillCommand(const CommandLine& line) {
  SharedOptions shared;
  bool all = false;
  bool now = false;
  const CommandInfo info = {
      "kill",
      "JOB... | --all [options]",
      "Ends jobs: sends SIGTERM, and after 5 seconds SIGKILL to the\n"
      "processes that are left.\n",
      {{"all a", 0, "", "end every job of one context", SetFlag(&all)},
       {"9 now", 0, "", "send SIGKILL at once", SetFlag(&now)}},
      0,
      1024,
      /*prints_json=*/true,
      JobWord::kRunning};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  if (shared.words.empty() != all) {
    return FailUsage(
        "kill", Status(kErrBadParam, "name the jobs to end, or use --all"));
  }
  Result<std::vector<Victims>> victims =
      all ? AllJobs(shared) : NamedJobs(shared);
  if (!victims.ok()) return Fail(victims.status());
  int sent = 0;
  const Status status = EndJobs(&*victims, now, &sent);
  if (!status.ok()) return Fail(status);
  std::vector<std::string> jobs;
  for (const Victims& one : *victims) {
    jobs.insert(jobs.end(), one.jobs.begin(), one.jobs.end());
  }
  return Done(shared, jobs, sent);
}

int SignalCommand(const CommandLine& line) {
  const CommandInfo info = {
      "signal",
      "JOB SIGNAL [options]",
      "Sends a signal (a name or a number) to every process of a job.\n",
      {},
      2,
      2,
      /*prints_json=*/true,
      JobWord::kRunning};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const std::optional<int> signal = ParseSignal(shared.words[1]);
  if (!signal.has_value()) {
    return FailUsage("signal", Status(kErrBadParam, "unknown signal '" +
                                                        shared.words[1] + "'"));
  }
  Result<JobTarget> job = FindJobTarget(shared.context, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  Status status = job->overlay.root.client.SignalJob(job->nspace, *signal);
  return status.ok() ? Done(shared, {job->nspace}, *signal) : Fail(status);
}

}  // namespace canopy::cli
