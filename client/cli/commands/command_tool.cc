// query, event: requests that canopy-tool sends to the agent of this machine as
// a PMIx tool.
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/base/program_output.h"
#include "client/cli/base/this_machine.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/tool.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/job_target.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"

namespace canopy::cli {
namespace {

struct Subject {
  std::string job;   // as typed; empty: none
  std::string rank;  // empty: all
};

OptionTable SubjectOptions(Subject* subject) {
  return {
      {"job", 1, "JOB", "apply to this job: its name or the end of its name",
       SetText(&subject->job)},
      {"rank", 1, "N", "apply to this rank of the job",
       SetText(&subject->rank)}};
}

Result<v1::Context> Find(const SharedOptions& shared, Subject* subject) {
  const bool is_rank = std::ranges::all_of(
      subject->rank, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_rank || (subject->job.empty() && !subject->rank.empty())) {
    return Status(kErrBadParam, "--rank needs the number of a rank, and --job");
  }
  if (subject->job.empty()) return NeedContext(shared.context);
  Result<JobTarget> target = FindJobTarget(shared.context, subject->job);
  if (!target.ok()) return target.status();
  subject->job = std::move(target->nspace);
  return std::move(target->overlay.context);
}

// Returns the command line of canopy-tool that sends the words to the agent of
// this machine.
Result<std::vector<std::string>> ToolCommand(const v1::Context& context,
                                             std::vector<std::string> words,
                                             bool json) {
  const auto here = std::ranges::find_if(
      context.members(), [](const bootstrap::v1::NodeInfo& member) {
        return IsThisMachineNow(member.machine());
      });
  if (here == context.members().end()) {
    return Status(kErrUnreach, "no agent of context '" + context.name() +
                                   "' is on this machine");
  }
  words.insert(words.begin(), here->runtime_dir());
  if (json) words.insert(words.begin(), "--json");
  words.insert(words.begin(), ProgramBeside("CANOPY_TOOL", "canopy-tool"));
  return words;
}

}  // namespace

int ExecuteTool(const v1::Context& context, std::vector<std::string> words,
                bool json) {
  Result<std::vector<std::string>> command =
      ToolCommand(context, std::move(words), json);
  if (!command.ok()) return Fail(command.status());
  std::vector<char*> argv;
  for (std::string& word : *command) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  PrintError("cannot run " + command->front() + ": " + std::strerror(errno));
  return errno == ENOENT ? kExitNotFound : kExitNotExecutable;
}

namespace {

Result<std::string> Output(Result<std::vector<std::string>> command) {
  if (!command.ok()) return command.status();
  const std::string program = command->front();
  Result<ProgramOutput> output =
      RunProgram(program, *std::move(command), /*quiet=*/true);
  if (!output.ok()) return output.status();
  if (WIFEXITED(output->status) && WEXITSTATUS(output->status) == 0) {
    return std::move(output->text);
  }
  return Status(kErrUnreach,
                "the agent of this machine does not list processes");
}

}  // namespace

Result<std::string> ToolOutput(const v1::Context& context,
                               std::vector<std::string> words) {
  return Output(ToolCommand(context, std::move(words), /*json=*/false));
}

Result<Json> ToolDocument(const v1::Context& context,
                          std::vector<std::string> words) {
  const Result<std::string> text =
      Output(ToolCommand(context, std::move(words), /*json=*/true));
  if (!text.ok()) return text.status();
  return ParseDocument(*text);
}

int QueryCommand(const CommandLine& line) {
  SharedOptions shared;
  Subject subject;
  const CommandInfo info = {
      "query",
      "KEY... [options]",
      "Queries the agent of this machine, as PMIx_Query_info does. KEY is the\n"
      "name or the string of an attribute, such as PMIX_QUERY_NAMESPACES.\n",
      SubjectOptions(&subject),
      1,
      256};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  Result<v1::Context> context = Find(shared, &subject);
  if (!context.ok()) return FailUsage("query", context.status());
  std::vector<std::string> words = {"query", subject.job, subject.rank};
  words.insert(words.end(), shared.words.begin(), shared.words.end());
  return ExecuteTool(*context, std::move(words), shared.json);
}

int EventCommand(const CommandLine& line) {
  SharedOptions shared;
  Subject subject;
  std::string text;
  OptionTable options = SubjectOptions(&subject);
  options.push_back(
      {"text", 1, "TEXT", "message to send with the event", SetText(&text)});
  const CommandInfo info = {
      "event",
      "CODE [options]",
      "Raises an event for a job, or for the whole session. Handlers that\n"
      "are registered for its code receive it. CODE is a number or a name,\n"
      "such as PMIX_DEBUGGER_RELEASE, which releases processes that wait for\n"
      "a debugger.\n",
      options,
      1,
      1};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  Result<v1::Context> context = Find(shared, &subject);
  if (!context.ok()) return FailUsage("event", context.status());
  return ExecuteTool(
      *context, {"event", subject.job, subject.rank, shared.words[0], text},
      shared.json);
}

}  // namespace canopy::cli
