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
#include "common/hosts.h"
#include "common/ids.h"
#include "protos/control.pb.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxDaemons = 1 << 16;

// How many are wanted, and beside whom.
struct Wanted {
  uint32_t per_node = 0;  // 0: not said
  uint32_t per_rank = 0;
  uint32_t rank = kRankWildcard;
};

Result<control::v1::JobStatus> JobOf(const std::string& context,
                                     const std::string& word) {
  Result<v1::Context> overlay = NeedContext(context);
  if (!overlay.ok()) return overlay.status();
  Result<RootAgent> root = ConnectRoot(*overlay);
  if (!root.ok()) return root.status();
  Result<std::string> name = FindJob(&root->client, word);
  if (!name.ok()) return name.status();
  auto jobs = root->client.ListJobs();
  if (!jobs.ok()) return jobs.status();
  for (const control::v1::JobStatus& job : jobs->jobs()) {
    if (job.nspace() == *name) return job;
  }
  return Status(kErrNotFound, "job " + *name + " has ended");
}

uint32_t CountOn(const control::v1::MapNode& node, const Wanted& wanted) {
  uint32_t ranks = 0;
  for (const control::v1::MapProc& proc : node.procs()) {
    const bool is_meant =
        wanted.rank == kRankWildcard || proc.rank() == wanted.rank;
    if (is_meant) ++ranks;
  }
  if (ranks == 0 || wanted.per_node != 0) {
    return ranks == 0 ? 0 : wanted.per_node;
  }
  return ranks * std::max(wanted.per_rank, uint32_t{1});
}

// Beside the ranks of the job, in the order of its nodes, whatever slots they
// have.
Status Place(const control::v1::JobStatus& job, const Wanted& wanted,
             RunOptions* run) {
  AppOptions& app = run->apps[0];
  for (const control::v1::MapNode& node : job.nodes()) {
    const uint32_t count = CountOn(node, wanted);
    if (count == 0) continue;
    Host& host = app.hosts.emplace_back();
    host.name = node.name();
    host.slots = count;
    host.slots_given = true;
    app.num_procs += count;
  }
  if (app.num_procs == 0) {
    return Status(kErrNotFound, "job " + job.nspace() + " has no rank " +
                                    std::to_string(wanted.rank));
  }
  run->map_by = "seq";
  run->bind_to = "none";
  run->oversubscribe = true;
  return Status();
}

}  // namespace

int DebugCommand(const CommandLine& line) {
  const auto dashes = std::ranges::find(line.args, "--");
  const auto own = static_cast<size_t>(dashes - line.args.begin());
  SharedOptions shared;
  RunOptions run;
  Wanted wanted;
  const CommandInfo info = {
      "debug",
      "JOB [options] -- COMMAND [args]",
      "Starts COMMAND beside the ranks of a running job: one for each of "
      "them,\n"
      "on its node, as a job of its own, whatever slots there are. Variable\n"
      "CANOPY_DEBUG_TARGET names the job that they are for. JOB is a name of\n"
      "'canopy ps' or its end, such as 1.\n",
      {{"per-node", 1, "N", "start N on each node of the job",
        SetNumber(&wanted.per_node, 1, kMaxDaemons)},
       {"per-rank per-proc", 1, "N", "start N for each rank",
        SetNumber(&wanted.per_rank, 1, kMaxDaemons)},
       {"rank", 1, "N", "only for this rank",
        SetNumber(&wanted.rank, 0, kRankValid)},
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
  if (wanted.per_node != 0 && wanted.per_rank != 0) {
    return FailUsage(
        "debug", Status(kErrBadParam, "--per-node and --per-rank: not both"));
  }
  Result<control::v1::JobStatus> job = JobOf(shared.context, shared.words[0]);
  if (!job.ok()) return Fail(job.status());
  run.context = shared.context;
  run.json = shared.json;
  run.stdin_target = "none";
  AppOptions& app = run.apps.emplace_back();
  const auto command = line.args.subspan(own + 1);
  app.argv.assign(command.begin(), command.end());
  app.env = {"CANOPY_DEBUG_TARGET=" + job->nspace()};
  if (Status s = Place(*job, wanted, &run); !s.ok()) return Fail(s);
  GrpcAgents agents;
  return RunOnAgents(run, line.program, &agents);
}

}  // namespace canopy::cli
