// stack: shows the current stacks of a job's ranks.
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/program_output.h"
#include "client/cli/base/this_machine.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/commands/stacks.h"
#include "client/cli/control/job_target.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"

namespace canopy::cli {
namespace {

Json StacksJson(const std::string& nspace, const tools::StackReport& report) {
  Json out;
  out["job"] = nspace;
  out["stacks"] = Json::array();
  for (const tools::MergedStack& stack : report.tree.Stacks()) {
    Json one;
    one["ranks"] = stack.ranks;
    one["frames"] = stack.frames;
    out["stacks"].push_back(std::move(one));
  }
  out["errors"] = report.errors;
  return out;
}

int Print(const tools::StackReport& report) {
  for (const std::string& error : report.errors) PrintError(error);
  return PrintText(report.tree.Text(),
                   report.errors.empty() ? 0 : kExitFailure);
}

}  // namespace

Result<tools::StackReport> StacksOf(const std::string& context,
                                    const std::string& nspace, bool threads,
                                    const std::set<uint32_t>& only) {
  std::vector<std::string> command = {
      "canopy",    "debug",
      "--context", context,
      nspace,      "--per-node",
      "1",         "--tag-output",
      "--",        ProgramBeside("CANOPY_STACKS", "canopy-stacks"),
      nspace};
  if (threads) command.emplace_back("--threads");
  const Result<ProgramOutput> output =
      RunProgram("/proc/self/exe", std::move(command), /*quiet=*/false);
  if (!output.ok()) return output.status();
  tools::StackReport report = tools::ReadStacks(output->text, only);
  if (output->status == 0 || !report.errors.empty()) return report;
  return Status(kErrJobFailedToLaunch,
                "the stacks of job " + nspace + " could not be read");
}

int StackCommand(const CommandLine& line) {
  SharedOptions shared;
  bool threads = false;
  std::vector<uint32_t> ranks;
  const CommandInfo info = {
      "stack",
      "JOB [options]",
      "Prints the stacks of the ranks of a running job as one tree: equal\n"
      "stacks appear once, with the number of their ranks. On each node, gdb\n"
      "stops the ranks briefly.\n",
      {{"threads", 0, "", "show all threads, not only the first",
        SetFlag(&threads)},
       {"ranks", 1, "RANKS", "show only these ranks, such as 0,2-5",
        SetRanks(&ranks)}},
      1,
      1,
      /*prints_json=*/true,
      JobWord::kRunning};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const Result<JobTarget> job = FindJobTarget(shared.context, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  Result<tools::StackReport> report =
      StacksOf(job->overlay.context.name(), job->nspace, threads,
               {ranks.begin(), ranks.end()});
  if (!report.ok()) return Fail(report.status());
  if (!shared.json) return Print(*report);
  return PrintDocument(StacksJson(job->nspace, *report),
                       report->errors.empty() ? 0 : kExitFailure);
}

}  // namespace canopy::cli
