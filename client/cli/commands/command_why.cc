// why: shows the operations of jobs that wait, and the ranks for which they
// wait.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/commands/job_lists.h"
#include "client/cli/commands/known_job.h"
#include "client/cli/commands/stacks.h"
#include "client/cli/commands/tool.h"
#include "client/cli/commands/waiting_ranks.h"
#include "client/cli/commands/why_text.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_target.h"
#include "client/cli/history/history_store.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"

namespace canopy::cli {
namespace {

using RanksOfJobs = std::map<std::string, std::set<uint32_t>>;

// Returns the ranks whose stacks show why nothing happens: the ranks for which
// others wait, and all ranks (an empty set) of jobs in which no operation
// waits.
RanksOfJobs Suspects(const WhyAnswer& answer) {
  RanksOfJobs suspects;
  for (const control::v1::Waiting& waiting : answer.why.waiting()) {
    for (const std::string& text : waiting.missing()) {
      const auto rank = ReadWaitingRank(waiting.nspace(), text);
      if (rank) suspects[rank->job].insert(rank->rank);
    }
  }
  for (const std::string& job : BusyJobs(answer)) suspects[job];
  return suspects;
}

int PrintStacks(const std::string& context, const RanksOfJobs& suspects) {
  int code = 0;
  for (const auto& [nspace, ranks] : suspects) {
    Result<tools::StackReport> report = StacksOf(context, nspace, false, ranks);
    if (!report.ok()) return Fail(report.status());
    for (const std::string& error : report->errors) PrintError(error);
    if (!report->errors.empty()) code = kExitFailure;
    const std::string text =
        "\nwhere " + std::string(ranks.empty() ? "the ranks" : "they") +
        " are in job " + nspace + ":\n" + report->tree.Text();
    if (PrintText(text) != 0) return kExitFailure;
  }
  return code;
}

// Finds the ranks of running jobs that a signal has stopped. If no agent runs
// on this machine, they are not known.
void FindStopped(const v1::Context& context, WhyAnswer* answer) {
  std::vector<std::string> words = {"procs"};
  for (const auto& job : answer->jobs.jobs()) {
    if (job.phase() == "running") words.push_back(job.nspace());
  }
  if (words.size() == 1) return;
  const Result<Json> document = ToolDocument(context, std::move(words));
  if (!document.ok()) return;
  for (const Json& process : document->value("processes", Json::array())) {
    if (process.value("state", "") == "stopped") {
      answer->stopped[process.value("job", "")].insert(
          process.value("rank", 0u));
    }
  }
  // A rank that a debugger holds is stopped too.
  for (const auto& waiting : answer->why.waiting()) {
    if (waiting.held()) answer->stopped.erase(waiting.nspace());
  }
}

// Requests the state of one context. `nspace` is the only job of interest;
// empty: all.
Result<WhyAnswer> Ask(OverlayTarget* overlay, const std::string& nspace) {
  ControlClient& root = overlay->root.client;
  Result<control::v1::WhyReply> why = root.Why(nspace);
  if (!why.ok()) return why.status();
  WhyAnswer answer;
  answer.context = overlay->context.name();
  answer.why = *std::move(why);
  const Result<control::v1::ListJobsReply> jobs = root.ListJobs();
  if (jobs.ok()) {
    for (const control::v1::JobStatus& job : jobs->jobs()) {
      if (!nspace.empty() && job.nspace() != nspace) continue;
      *answer.jobs.add_jobs() = job;
    }
  }
  auto status = root.GetStatus(/*ask_all=*/true);
  if (status.ok()) answer.status = *std::move(status);
  FindStopped(overlay->context, &answer);
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

int PrintAnswers(const std::vector<WhyAnswer>& answers, bool json, bool stacks,
                 int exit_code) {
  if (json) return PrintDocument(WhyDocument(answers), exit_code);
  if (PrintText(WhyText(answers)) != 0) return kExitFailure;
  for (const WhyAnswer& answer : answers) {
    if (!stacks) break;
    const int code = PrintStacks(answer.context, Suspects(answer));
    if (code != 0) exit_code = code;
  }
  return exit_code;
}

int PrintEnd(const HistoryEntry& entry, bool json) {
  if (!json) {
    return PrintText(EndText(entry) + "\n");
  }
  Json out;
  out["ended"] = EndedJson(entry);
  return PrintDocument(out);
}

}  // namespace

int WhyCommand(const CommandLine& line) {
  bool stacks = false;
  const CommandInfo info = {
      "why",
      "[JOB] [options]",
      "Shows the operations that wait, in all jobs or in one job: for how\n"
      "long, and for which ranks on which nodes. Also shows ranks that are\n"
      "stopped or held, and agents that do not answer. For a job that has\n"
      "ended: how and when.\n",
      {{"stacks", 0, "",
        "also print the stacks of these ranks, as\n"
        "'canopy stack' does, or of all if no operation waits",
        SetFlag(&stacks)}},
      0,
      1,
      /*prints_json=*/true,
      JobWord::kKnown};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  if (stacks && shared.json) {
    return FailUsage("why",
                     Status(kErrBadParam,
                            "--stacks has no JSON; 'canopy stack -o json' "
                            "prints stacks"));
  }
  int exit_code = 0;
  std::vector<WhyAnswer> answers;
  if (!shared.words.empty()) {
    const Result<KnownJob> job =
        FindKnownJob(HistoryStore(), shared.context, shared.words[0]);
    if (!job.ok()) return Fail(job.status());
    if (job->over()) return PrintEnd(*job->entry, shared.json);
    Result<WhyAnswer> answer = WhyOf(shared.context, job->target->nspace);
    if (!answer.ok()) return Fail(answer.status());
    answers.push_back(*std::move(answer));
  } else {
    Result<std::vector<WhyAnswer>> all = WhyOfAll(shared.context, &exit_code);
    if (!all.ok()) return Fail(all.status());
    answers = *std::move(all);
    if (answers.empty() && exit_code != 0) return exit_code;
  }
  return PrintAnswers(answers, shared.json, stacks, exit_code);
}

}  // namespace canopy::cli
