// status, ps, why: what an overlay tells of itself.
#include <unistd.h>

#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/json_text.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/status_text.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/context_target.h"
#include "client/cli/control/job_names.h"
#include "client/cli/options/command_line.h"

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
  const CommandInfo info = {"ps", "[options]", "Lists the jobs.\n", {}, 0, 0};
  Asked asked;
  int exit_code = 0;
  std::optional<RootAgent> root = Begin(info, line, &asked, &exit_code);
  if (!root.has_value()) return exit_code;
  auto jobs = root->client.ListJobs();
  if (!jobs.ok()) return Fail(jobs.status());
  return Print(asked.shared.json ? JsonText(*jobs) : JobsText(*jobs));
}

int WhyCommand(const CommandLine& line) {
  const CommandInfo info = {
      "why",
      "[JOB] [options]",
      "Tells what does not go on in the jobs, or in one job: the operation,\n"
      "for how long, and which ranks on which nodes it waits for.\n",
      {},
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
  return Print(asked.shared.json ? JsonText(*why) : WhyText(*why));
}

}  // namespace canopy::cli
