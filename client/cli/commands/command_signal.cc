// kill, signal: what is sent to the processes of a job.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/json_text.h"
#include "client/cli/commands/answers.pb.h"
#include "client/cli/commands/commands.h"
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

Result<std::vector<std::string>> ChosenJobs(ControlClient* client,
                                            const SharedOptions& shared,
                                            bool all) {
  Result<std::vector<std::string>> names = JobNames(client);
  if (!names.ok() || all) return names;
  std::vector<std::string> chosen;
  for (const std::string& word : shared.words) {
    Result<std::string> job = ChooseJob(*names, word);
    if (!job.ok()) return job.status();
    chosen.push_back(*std::move(job));
  }
  return chosen;
}

// True when none of the jobs is there any more.
Result<bool> WaitGone(ControlClient* client,
                      const std::vector<std::string>& jobs,
                      std::chrono::seconds limit) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    Result<std::vector<std::string>> names = JobNames(client);
    if (!names.ok()) return names.status();
    const bool gone = std::ranges::none_of(jobs, [&](const std::string& job) {
      return std::ranges::count(*names, job) > 0;
    });
    if (gone) return true;
    if (Clock::now() >= deadline) return false;
    poll(nullptr, 0, kLookAgainMs);
  }
}

Status SendTo(ControlClient* client, const std::vector<std::string>& jobs,
              int signal) {
  for (const std::string& job : jobs) {
    Status status = client->SignalJob(job, signal);
    if (!status.ok() && status.code() != kErrNotFound) return status;
  }
  return Status();
}

// `*sent`: the last signal that was sent.
Status EndJobs(ControlClient* client, const std::vector<std::string>& jobs,
               bool now, int* sent) {
  *sent = now ? SIGKILL : SIGTERM;
  if (!now) {
    if (Status s = SendTo(client, jobs, SIGTERM); !s.ok()) return s;
    Result<bool> gone = WaitGone(client, jobs, kGrace);
    if (!gone.ok() || *gone) return gone.status();
  }
  *sent = SIGKILL;
  if (Status s = SendTo(client, jobs, SIGKILL); !s.ok()) return s;
  Result<bool> gone = WaitGone(client, jobs, kKilled);
  if (!gone.ok() || *gone) return gone.status();
  return Status(kErrTimeout, "processes of job " + jobs[0] +
                                 " do not end although they were killed");
}

// Without -o json there is nothing to say about what went well.
int Done(const SharedOptions& shared, const std::vector<std::string>& jobs,
         int signal) {
  if (!shared.json) return 0;
  v1::JobsAnswer answer;
  for (const std::string& job : jobs) answer.add_jobs(job);
  answer.set_signal(signal);
  return WriteAll(STDOUT_FILENO, JsonText(answer)) ? 0 : kExitFailure;
}

}  // namespace

int KillCommand(const CommandLine& line) {
  SharedOptions shared;
  bool all = false;
  bool now = false;
  const CommandInfo info = {
      "kill",
      "JOB... | --all [options]",
      "Ends jobs: SIGTERM, and SIGKILL for what is left after 5 seconds. JOB\n"
      "is a name of 'canopy ps' or its end, such as 1.\n",
      {{"all a", 0, "", "every job", SetFlag(&all)},
       {"9 now", 0, "", "SIGKILL at once", SetFlag(&now)}},
      0,
      1024};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  if (shared.words.empty() != all) {
    return FailUsage(
        "kill", Status(kErrBadParam, "name the jobs to end, or say --all"));
  }
  Result<OverlayTarget> overlay = FindOverlay(shared.context);
  if (!overlay.ok()) return Fail(overlay.status());
  ControlClient& root = overlay->root.client;
  Result<std::vector<std::string>> jobs = ChosenJobs(&root, shared, all);
  if (!jobs.ok()) return Fail(jobs.status());
  int sent = 0;
  Status status = EndJobs(&root, *jobs, now, &sent);
  return status.ok() ? Done(shared, *jobs, sent) : Fail(status);
}

int SignalCommand(const CommandLine& line) {
  const CommandInfo info = {
      "signal",
      "JOB SIGNAL [options]",
      "Sends a signal (a name or a number) to every process of a job. JOB is\n"
      "a name of 'canopy ps' or its end, such as 1.\n",
      {},
      2,
      2};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const std::optional<int> signal = ParseSignal(shared.words[1]);
  if (!signal.has_value()) {
    return FailUsage("signal", Status(kErrBadParam, "'" + shared.words[1] +
                                                        "' is no signal"));
  }
  Result<JobTarget> job = FindJobTarget(shared.context, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  Status status = job->overlay.root.client.SignalJob(job->nspace, *signal);
  return status.ok() ? Done(shared, {job->nspace}, *signal) : Fail(status);
}

}  // namespace canopy::cli
