// ps: lists the jobs and their processes.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/commands/history_text.h"
#include "client/cli/commands/job_lists.h"
#include "client/cli/commands/refresh.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/commands/tool.h"
#include "client/cli/history/history_store.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"

namespace canopy::cli {
namespace {

struct PsOptions {
  SharedOptions shared;
  bool procs = false;
  bool all = false;
  bool watch = false;
  bool usage = false;
};

std::vector<std::string> ProcessWords(const JobList& list) {
  std::vector<std::string> words = {"procs"};
  for (const control::v1::JobStatus& job : list.jobs.jobs()) {
    words.push_back(job.nspace());
  }
  return words;
}

// Returns one table for each context that has jobs.
Result<std::string> ProcessesText(const JobLists& all) {
  std::string text;
  const bool heads = all.lists.size() > 1 || all.exit_code != 0;
  for (const JobList& list : all.lists) {
    if (list.jobs.jobs_size() == 0) continue;
    const Result<std::string> table =
        ToolOutput(list.context, ProcessWords(list));
    if (!table.ok()) return table.status();
    if (heads) text += "context " + list.context.name() + ":\n";
    text += *table;
  }
  return text.empty() ? "no jobs\n" : text;
}

Result<Json> ProcessesJson(const JobLists& all) {
  Json out = Json::array();
  for (const JobList& list : all.lists) {
    if (list.jobs.jobs_size() == 0) continue;
    Result<Json> document = ToolDocument(list.context, ProcessWords(list));
    if (!document.ok()) return document.status();
    for (Json& process : (*document)["processes"]) {
      out.push_back(std::move(process));
    }
  }
  return out;
}

std::string UsageText(const JobLists& all) {
  const bool heads = all.lists.size() > 1 || all.exit_code != 0;
  std::string text;
  for (const JobList& list : all.lists) {
    if (heads) text += "context " + list.context.name() + ":\n";
    text += UsersText(list.jobs);
  }
  return text;
}

Json UsageJson(const JobLists& all) {
  Json out = Json::array();
  for (const JobList& list : all.lists) {
    for (const control::v1::UserUse& use : list.jobs.users()) {
      out.push_back(UserUseJson(list.context.name(), use));
    }
  }
  return out;
}

// Returns the jobs as text, with the history if the options request it.
Result<std::string> TextOf(const PsOptions& options, const JobLists& lists,
                           const std::vector<HistoryEntry>& ended) {
  if (options.usage) return UsageText(lists);
  if (options.procs) {
    Result<std::string> processes = ProcessesText(lists);
    if (!processes.ok()) return processes;
    return *processes + SilentLines(lists) +
           (options.all ? HistoryText(ended, options.shared.context.empty(),
                                      CommandRoom())
                        : "");
  }
  const control::v1::ListJobsReply jobs = Merged(lists);
  const bool contexts =
      options.all ? options.shared.context.empty() : lists.lists.size() > 1;
  const std::string history =
      options.all
          ? HistoryText(ended, options.shared.context.empty(), CommandRoom())
          : "";
  const bool show = jobs.jobs_size() > 0 || history.empty();
  return (show ? JobsText(jobs, contexts, CommandRoom()) : "") +
         SilentLines(lists) + history;
}

Result<Json> DocumentOf(const PsOptions& options, const JobLists& lists,
                        const std::vector<HistoryEntry>& ended) {
  Json out;
  if (options.usage) {
    out["users"] = UsageJson(lists);
    return out;
  }
  if (!options.procs || options.all) out["jobs"] = JobsJson(Merged(lists));
  if (options.procs) {
    Result<Json> processes = ProcessesJson(lists);
    if (!processes.ok()) return processes;
    out["processes"] = *std::move(processes);
  }
  if (options.all) out["ended"] = EndedJobsJson(ended);
  return out;
}

// Returns the jobs of all contexts. With --all, no overlay needs to be up,
// because the history is printed anyway.
Result<JobLists> Lists(const PsOptions& options) {
  Result<JobLists> lists = ListAllJobs(options.shared.context);
  if (!lists.ok() && options.all && lists.code() == kErrNotFound) {
    return JobLists();
  }
  return lists;
}

int Show(const PsOptions& options, const std::string& before) {
  const Result<JobLists> lists = Lists(options);
  if (!lists.ok()) return Fail(lists.status());
  if (!options.all && lists->lists.empty() && lists->exit_code != 0) {
    return lists->exit_code;
  }
  std::vector<HistoryEntry> ended;
  if (options.all) {
    Result<std::vector<HistoryEntry>> entries =
        HistoryStore().List(options.shared.context);
    if (!entries.ok()) return Fail(entries.status());
    ended = *std::move(entries);
  }
  if (options.shared.json) {
    const Result<Json> document = DocumentOf(options, *lists, ended);
    if (!document.ok()) return Fail(document.status());
    const bool line = options.watch;
    return PrintText(line ? LineText(*document) : DocumentText(*document),
                     lists->exit_code);
  }
  const Result<std::string> text = TextOf(options, *lists, ended);
  if (!text.ok()) return Fail(text.status());
  return PrintText(before + *text, lists->exit_code);
}

}  // namespace

int PsCommand(const CommandLine& line) {
  PsOptions options;
  Refresh refresh;
  OptionTable table = {
      {"procs", 0, "", "list the processes: pid, node, state and program",
       SetFlag(&options.procs)},
      {"all a", 0, "",
       "also list the jobs that have ended, of the last\n"
       "10,000 that 'canopy run' has started",
       SetFlag(&options.all)},
      {"usage", 0, "",
       "show how many jobs and processes each user has\n"
       "instead, and the limits",
       SetFlag(&options.usage)},
      {"watch w", 0, "", "show the list again every 2 seconds",
       SetFlag(&options.watch)}};
  AddRefreshOptions(&refresh, &table);
  const CommandInfo info = {
      "ps",
      "[options]",
      "Lists the jobs of one context or, if none is named, of all overlays of\n"
      "this user that are up and of every 'canopy run' that has agents of its\n"
      "own.\n",
      std::move(table),
      0,
      0};
  const ParseOutcome parsed = ParseCommandLine(info, line, &options.shared);
  if (!parsed.go_on) return parsed.exit_code;
  if (!options.watch) return Show(options, "");
  return Repeat(refresh, [&options](const std::string& clear) {
    return Show(options, clear);
  });
}

}  // namespace canopy::cli
