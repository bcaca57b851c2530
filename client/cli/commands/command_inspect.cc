// status, ps, why: the state of an overlay and its jobs.
#include <unistd.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/json_text.h"
#include "client/cli/commands/answers.pb.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/history_text.h"
#include "client/cli/commands/known_job.h"
#include "client/cli/commands/stacks.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/commands/tool.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_target.h"
#include "client/cli/history/history_store.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

int Print(const std::string& text) {
  return WriteAll(STDOUT_FILENO, text) ? 0 : kExitFailure;
}

// Returns the ranks that others wait for, by job. Their texts read "[JOB ]rank
// N on NODE".
std::map<std::string, std::set<uint32_t>> MissingRanks(
    const control::v1::WhyReply& why) {
  constexpr std::string_view kRank = "rank ";
  std::map<std::string, std::set<uint32_t>> missing;
  for (const control::v1::Waiting& waiting : why.waiting()) {
    for (const std::string& who : waiting.missing()) {
      const size_t at = who.find(kRank);
      if (at == std::string::npos) continue;
      const std::string number = who.substr(at + kRank.size());
      const auto rank =
          ParseNumber(number.substr(0, number.find(' ')), UINT32_MAX);
      const std::string job =
          at == 0 ? waiting.nspace() : who.substr(0, at - 1);
      if (rank) missing[job].insert(*rank);
    }
  }
  return missing;
}

int PrintStacks(const std::string& context,
                const std::map<std::string, std::set<uint32_t>>& missing) {
  int code = 0;
  for (const auto& [nspace, ranks] : missing) {
    Result<tools::StackReport> report = StacksOf(context, nspace, false, ranks);
    if (!report.ok()) return Fail(report.status());
    for (const std::string& error : report->errors) PrintError(error);
    if (!report->errors.empty()) code = kExitFailure;
    const int written = Print("\nwhere they are in job " + nspace + ":\n" +
                              report->tree.Text());
    if (written != 0) return written;
  }
  return code;
}

// The jobs of one context.
struct JobList {
  v1::Context context;
  control::v1::ListJobsReply jobs;
};

// Contexts whose agents do not answer are named on standard error.
struct JobLists {
  std::vector<JobList> lists;
  int exit_code = 0;
};

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
    Result<control::v1::ListJobsReply> jobs = overlay.root.client.ListJobs();
    if (!jobs.ok() && !HasEnded(overlay.context)) {
      overlays->silent.push_back(jobs.status());
    }
    if (!jobs.ok()) continue;
    for (auto& job : *jobs->mutable_jobs()) {
      job.set_context(overlay.context.name());
    }
    all.lists.push_back({std::move(overlay.context), *std::move(jobs)});
  }
  all.exit_code = PrintSilent(overlays->silent);
  return all;
}

control::v1::ListJobsReply Merged(const JobLists& all) {
  control::v1::ListJobsReply merged;
  for (const JobList& list : all.lists) merged.MergeFrom(list.jobs);
  return merged;
}

std::vector<std::string> ProcessWords(const JobList& list) {
  std::vector<std::string> words = {"procs"};
  for (const control::v1::JobStatus& job : list.jobs.jobs()) {
    words.push_back(job.nspace());
  }
  return words;
}

// Prints one table for each context that has jobs.
int PrintProcesses(const JobLists& all) {
  std::vector<const JobList*> lists;
  for (const JobList& list : all.lists) {
    if (list.jobs.jobs_size() > 0) lists.push_back(&list);
  }
  if (lists.size() == 1 && all.exit_code == 0) {
    return ExecuteTool(lists[0]->context, ProcessWords(*lists[0]));
  }
  if (lists.empty()) return Print("no jobs\n");
  int exit_code = all.exit_code;
  for (const JobList* list : lists) {
    const int head = Print("context " + list->context.name() + ":\n");
    if (head != 0) return head;
    const int code = RunTool(list->context, ProcessWords(*list));
    if (code != 0) exit_code = code;
  }
  return exit_code;
}

// The waiting operations of one context, and if there are none, what else may
// be the reason why nothing happens.
struct WhyAnswer {
  std::string context;
  control::v1::WhyReply why;
  control::v1::ListJobsReply jobs;
  control::v1::StatusReply status;
};

// `nspace`: the only job of interest; empty: all.
Result<WhyAnswer> Ask(OverlayTarget* overlay, const std::string& nspace) {
  Result<control::v1::WhyReply> why = overlay->root.client.Why(nspace);
  if (!why.ok()) return why.status();
  WhyAnswer answer{overlay->context.name(), *std::move(why), {}, {}};
  if (answer.why.waiting_size() > 0) return answer;
  Result<control::v1::ListJobsReply> jobs = overlay->root.client.ListJobs();
  if (jobs.ok()) {
    for (const control::v1::JobStatus& job : jobs->jobs()) {
      if (!nspace.empty() && job.nspace() != nspace) continue;
      *answer.jobs.add_jobs() = job;
    }
  }
  auto status = overlay->root.client.GetStatus(/*ask_all=*/true);
  if (status.ok()) answer.status = *std::move(status);
  return answer;
}

Result<WhyAnswer> WhyOf(const std::string& asked, const std::string& word) {
  Result<JobTarget> job = FindJobTarget(asked, word);
  if (!job.ok()) return job.status();
  return Ask(&job->overlay, job->nspace);
}

Result<std::vector<WhyAnswer>> WhyOfAll(const std::string& asked,
                                        int* exit_code) {
  Result<OverlayTargets> overlays = FindOverlays(asked);
  if (!overlays.ok()) return overlays.status();
  if (overlays->answering.empty() && overlays->silent.empty()) {
    return NoContext();
  }
  std::vector<WhyAnswer> answers;
  for (OverlayTarget& overlay : overlays->answering) {
    Result<WhyAnswer> answer = Ask(&overlay, "");
    if (answer.ok()) {
      answers.push_back(*std::move(answer));
    } else if (!HasEnded(overlay.context)) {
      overlays->silent.push_back(answer.status());
    }
  }
  *exit_code = PrintSilent(overlays->silent);
  return answers;
}

int PrintWhy(const std::vector<WhyAnswer>& answers, bool json) {
  control::v1::WhyReply merged;
  std::string running;
  for (const WhyAnswer& answer : answers) {
    merged.MergeFrom(answer.why);
    running += RunningText(answer.jobs, answer.status);
  }
  return Print(json ? JsonText(merged) : WhyText(merged) + running);
}

// Returns an empty string if there are no other contexts.
std::string OtherContexts(const std::string& shown) {
  Result<std::vector<std::string>> names = ContextNames();
  if (!names.ok()) return "";
  std::erase(*names, shown);
  return names->empty() ? "" : "other contexts: " + Join(*names, ", ") + "\n";
}

}  // namespace

int StatusCommand(const CommandLine& line) {
  const CommandInfo info = {
      "status",
      "[options]",
      "Shows the tree of agents: addresses, slots and running processes.\n",
      {},
      0,
      0};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  Result<OverlayTarget> overlay = FindOverlay(shared.context);
  if (!overlay.ok()) return Fail(overlay.status());
  auto status = overlay->root.client.GetStatus(/*ask_all=*/true);
  if (!status.ok()) return Fail(status.status());
  const std::string& name = overlay->context.name();
  return Print(shared.json ? JsonText(*status)
                           : StatusText(name, *status, ShowsUtf8()) +
                                 OtherContexts(name));
}

namespace {

// The history belongs to the output even if no overlay is up.
int PrintAllJobs(const SharedOptions& shared) {
  Result<JobLists> running = ListAllJobs(shared.context);
  if (!running.ok() && running.code() != kErrNotFound) {
    return Fail(running.status());
  }
  const JobLists lists = running.ok() ? *std::move(running) : JobLists();
  const Result<std::vector<HistoryEntry>> ended =
      HistoryStore().List(shared.context);
  if (!ended.ok()) return Fail(ended.status());
  if (!shared.json) {
    const bool contexts = shared.context.empty();
    const std::string history = HistoryText(*ended, contexts);
    const control::v1::ListJobsReply jobs = Merged(lists);
    const bool show = jobs.jobs_size() > 0 || history.empty();
    return Print((show ? JobsText(jobs, contexts) : "") + history);
  }
  v1::AllJobsAnswer answer;
  *answer.mutable_jobs() = Merged(lists).jobs();
  for (const HistoryEntry& entry : *ended) {
    if (entry.ended_ms != 0 || entry.lost()) {
      *answer.add_ended() = MessageOf(entry);
    }
  }
  return Print(JsonText(answer));
}

}  // namespace

int PsCommand(const CommandLine& line) {
  bool procs = false;
  bool all_jobs = false;
  const CommandInfo info = {
      "ps",
      "[options]",
      "Lists the jobs of one context or, if none is named, of all overlays of\n"
      "this user that are up and of every 'canopy run' that has agents of its\n"
      "own.\n",
      {{"procs", 0, "",
        "list the processes: pid, node, state and program, as\n"
        "known to the agents",
        SetFlag(&procs)},
       {"all a", 0, "",
        "also list the jobs that have ended, of the last\n"
        "10,000 that 'canopy run' has started",
        SetFlag(&all_jobs)}},
      0,
      0};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  if (all_jobs && !procs) return PrintAllJobs(shared);
  const Result<JobLists> all = ListAllJobs(shared.context);
  if (!all.ok()) return Fail(all.status());
  if (all->lists.empty() && all->exit_code != 0) return all->exit_code;
  if (procs && shared.json) {
    return Fail(Status(kErrNotSupported,
                       "'canopy ps --procs' prints no JSON; 'canopy ps' does"));
  }
  if (procs) return PrintProcesses(*all);
  const control::v1::ListJobsReply jobs = Merged(*all);
  const int written =
      Print(shared.json ? JsonText(jobs)
                        : JobsText(jobs, /*contexts=*/all->lists.size() > 1));
  return written == 0 ? all->exit_code : written;
}

int WhyCommand(const CommandLine& line) {
  bool stacks = false;
  const CommandInfo info = {"why",
                            "[JOB] [options]",
                            "Shows the operations that wait, in all jobs or in "
                            "one job: for how long,\n"
                            "and for which ranks on which nodes. For a job "
                            "that has ended: how and when.\n",
                            {{"stacks", 0, "",
                              "also print the stacks of these ranks, as\n"
                              "'canopy stack' does",
                              SetFlag(&stacks)}},
                            0,
                            1};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  int exit_code = 0;
  std::vector<WhyAnswer> answers;
  if (!shared.words.empty()) {
    const Result<KnownJob> job =
        FindKnownJob(HistoryStore(), shared.context, shared.words[0]);
    if (!job.ok()) return Fail(job.status());
    if (job->over()) {
      return Print(shared.json ? JsonText(MessageOf(*job->entry))
                               : EndText(*job->entry) + "\n");
    }
    Result<WhyAnswer> answer = WhyOf(shared.context, job->target->nspace);
    if (!answer.ok()) return Fail(answer.status());
    answers.push_back(*std::move(answer));
  } else {
    Result<std::vector<WhyAnswer>> all = WhyOfAll(shared.context, &exit_code);
    if (!all.ok()) return Fail(all.status());
    answers = *std::move(all);
    if (answers.empty() && exit_code != 0) return exit_code;
  }
  if (const int written = PrintWhy(answers, shared.json); written != 0) {
    return written;
  }
  for (const WhyAnswer& answer : answers) {
    if (!stacks) break;
    const int code = PrintStacks(answer.context, MissingRanks(answer.why));
    if (code != 0) exit_code = code;
  }
  return exit_code;
}

}  // namespace canopy::cli
