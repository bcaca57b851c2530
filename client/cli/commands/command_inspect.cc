// status, ps, why: what an overlay tells of itself.
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
#include "client/cli/commands/commands.h"
#include "client/cli/commands/stacks.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/commands/tool.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/context_target.h"
#include "client/cli/control/job_names.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

struct Asked {
  SharedOptions shared;
  v1::Context context;
};

// Parses and connects. No value: done with `*exit_code`.
std::optional<RootAgent> Begin(const CommandInfo& info, const CommandLine& line,
                               Asked* asked, int* exit_code) {
  const ParseOutcome parsed = ParseCommandLine(info, line, &asked->shared);
  *exit_code = parsed.exit_code;
  if (!parsed.go_on) return std::nullopt;
  Result<v1::Context> context = NeedContext(asked->shared.context);
  if (!context.ok()) {
    *exit_code = Fail(context.status());
    return std::nullopt;
  }
  asked->context = *std::move(context);
  Result<RootAgent> root = ConnectRoot(asked->context);
  if (!root.ok()) {
    *exit_code = Fail(root.status());
    return std::nullopt;
  }
  return *std::move(root);
}

int Print(const std::string& text) {
  return WriteAll(STDOUT_FILENO, text) ? 0 : kExitFailure;
}

// By job, whose ranks others wait for: "[JOB ]rank N on NODE".
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

int PrintProcesses(const v1::Context& context,
                   const control::v1::ListJobsReply& jobs) {
  std::vector<std::string> words = {"procs"};
  for (const control::v1::JobStatus& job : jobs.jobs()) {
    words.push_back(job.nspace());
  }
  return ExecuteTool(context, std::move(words));
}

}  // namespace

int StatusCommand(const CommandLine& line) {
  const CommandInfo info = {
      "status",
      "[options]",
      "Draws the tree of agents: addresses, slots and running processes.\n",
      {},
      0,
      0};
  Asked asked;
  int exit_code = 0;
  std::optional<RootAgent> root = Begin(info, line, &asked, &exit_code);
  if (!root.has_value()) return exit_code;
  auto status = root->client.GetStatus(/*ask_all=*/true);
  if (!status.ok()) return Fail(status.status());
  return Print(asked.shared.json
                   ? JsonText(*status)
                   : StatusText(asked.context.name(), *status, ShowsUtf8()));
}

int PsCommand(const CommandLine& line) {
  bool procs = false;
  const CommandInfo info = {
      "ps",
      "[options]",
      "Lists the jobs.\n",
      {{"procs", 0, "",
        "their processes: pid, node, state and program, as the agents know",
        SetFlag(&procs)}},
      0,
      0};
  Asked asked;
  int exit_code = 0;
  std::optional<RootAgent> root = Begin(info, line, &asked, &exit_code);
  if (!root.has_value()) return exit_code;
  auto jobs = root->client.ListJobs();
  if (!jobs.ok()) return Fail(jobs.status());
  if (procs) return PrintProcesses(asked.context, *jobs);
  return Print(asked.shared.json ? JsonText(*jobs) : JobsText(*jobs));
}

int WhyCommand(const CommandLine& line) {
  bool stacks = false;
  const CommandInfo info = {
      "why",
      "[JOB] [options]",
      "Tells what does not go on in the jobs, or in one job: the operation,\n"
      "for how long, and which ranks on which nodes it waits for.\n",
      {{"stacks", 0, "",
        "also where in their program these ranks are, as 'canopy stack' does",
        SetFlag(&stacks)}},
      0,
      1};
  Asked asked;
  int exit_code = 0;
  std::optional<RootAgent> root = Begin(info, line, &asked, &exit_code);
  if (!root.has_value()) return exit_code;
  std::string nspace;
  if (!asked.shared.words.empty()) {
    Result<std::string> job = FindJob(&root->client, asked.shared.words[0]);
    if (!job.ok()) return Fail(job.status());
    nspace = *std::move(job);
  }
  auto why = root->client.Why(nspace);
  if (!why.ok()) return Fail(why.status());
  const int written = Print(asked.shared.json ? JsonText(*why) : WhyText(*why));
  if (!stacks || written != 0) return written;
  return PrintStacks(asked.shared.context, MissingRanks(*why));
}

}  // namespace canopy::cli
