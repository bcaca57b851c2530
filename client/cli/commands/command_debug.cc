// debug: a tool beside the ranks of a job that runs.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/commands/commands.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/control/context_target.h"
#include "client/cli/control/grpc_agents.h"
#include "client/cli/control/job_names.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "client/cli/options/run_options.h"
#include "client/cli/run/run_command.h"
#include "common/ids.h"
#include "common/job_debug.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxDaemons = 1 << 16;

Result<std::string> WholeName(const std::string& context,
                              const std::string& job) {
  Result<v1::Context> overlay = NeedContext(context);
  if (!overlay.ok()) return overlay.status();
  Result<RootAgent> root = ConnectRoot(*overlay);
  if (!root.ok()) return root.status();
  return FindJob(&root->client, job);
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
      "Starts COMMAND beside the ranks of a running job: one for each of "
      "them,\n"
      "on its node, as a job of its own, which takes no slots. By\n"
      "PMIX_DEBUG_TARGET each finds the job that it is for. JOB is a name of\n"
      "'canopy ps' or its end, such as 1.\n",
      {{"per-node", 1, "N", "start N on each node of the job",
        SetNumber(&daemons.per_node, 1, kMaxDaemons)},
       {"per-rank per-proc", 1, "N", "start N for each rank",
        SetNumber(&daemons.per_proc, 1, kMaxDaemons)},
       {"rank", 1, "N", "only for this rank",
        SetNumber(&daemons.target.rank, 0, kRankValid)},
       {"tag-output l", 0, "", "put [job,rank]<stream> before every line",
        SetFlag(&run.tag_output)}},
      1,
      1};
  const ParseOutcome parsed = ParseCommandLine(
      info, {line.program, line.args.subspan(0, own)}, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  if (own + 1 >= line.args.size()) {
    return FailUsage("debug", Status(kErrBadParam, "no command after '--'"));
  }
  Result<std::string> job = WholeName(shared.context, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  daemons.target.nspace = *std::move(job);
  run.context = shared.context;
  run.json = shared.json;
  run.stdin_target = "none";
  run.daemons = daemons;
  AppOptions& app = run.apps.emplace_back();
  const auto command = line.args.subspan(own + 1);
  app.argv.assign(command.begin(), command.end());
  GrpcAgents agents;
  return RunOnAgents(run, line.program, &agents);
}

}  // namespace canopy::cli
