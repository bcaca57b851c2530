// debug: starts a tool beside the ranks of a running job.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/commands/commands.h"
#include "client/cli/control/grpc_agents.h"
#include "client/cli/control/job_target.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "client/cli/options/run_options.h"
#include "client/cli/run/run_command.h"
#include "common/ids.h"
#include "common/job_debug.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxDaemons = 1 << 16;

int Start(const JobTarget& job, DebugDaemons daemons,
          const std::string& program, std::span<const std::string> command,
          RunOptions run) {
  run.context = job.overlay.context.name();
  daemons.target.nspace = job.nspace;
  run.job.stdin_target = StdinTarget::kNone;
  run.job.daemons = daemons;
  JobApp& app = run.job.apps.emplace_back();
  app.argv.assign(command.begin(), command.end());
  GrpcAgents agents;
  return RunOnAgents(run, program, &agents);
}

}  // namespace

int DebugCommand(const CommandLine& line) {
  const auto dashes = std::ranges::find(line.args, "--");
  const auto own = static_cast<size_t>(dashes - line.args.begin());
  SharedOptions shared;
  RunOptions run;
  DebugDaemons daemons;
  daemons.target.rank = kRankWildcard;
  const CommandInfo info = {
      "debug",
      "JOB [options] -- COMMAND [args]",
      "Starts COMMAND beside the ranks of a running job: one process for\n"
      "each rank, on the node of the rank. The processes form a job of their\n"
      "own that takes no slots; the attribute PMIX_DEBUG_TARGET names the\n"
      "job to debug.\n",
      {{"per-node", 1, "N", "start N processes on each node of the job",
        SetNumber(&daemons.per_node, 1, kMaxDaemons)},
       {"per-rank per-proc", 1, "N", "start N processes for each rank",
        SetNumber(&daemons.per_proc, 1, kMaxDaemons)},
       {"rank", 1, "N", "start processes for this rank only",
        SetNumber(&daemons.target.rank, 0, kRankValid)},
       {"tag-output l", 0, "", "prefix every line with [job,rank]<stream>",
        SetFlag(&run.tag_output)}},
      1,
      1,
      /*prints_json=*/false,
      JobWord::kRunning};
  const ParseOutcome parsed = ParseCommandLine(
      info, {line.program, line.args.subspan(0, own)}, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  if (own + 1 >= line.args.size()) {
    return FailUsage("debug", Status(kErrBadParam, "no command after '--'"));
  }
  const Result<JobTarget> job = FindJobTarget(shared.context, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  return Start(*job, daemons, line.program, line.args.subspan(own + 1),
               std::move(run));
}

}  // namespace canopy::cli
