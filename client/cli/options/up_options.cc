#include "client/cli/options/up_options.h"

#include <utility>

#include "client/cli/config/settings.h"
#include "client/cli/options/hostfile.h"
#include "client/cli/options/option_setters.h"
#include "common/name_ranges.h"
#include "common/scheduler_address.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxSeconds = 24 * 3600;

Status AddHosts(Result<std::vector<Host>> more, std::vector<Host>* hosts) {
  if (!more.ok()) return more.status();
  for (Host& host : *more) {
    if (host.relative()) {
      return Status(kErrBadParam, "'" + host.name +
                                      "' selects nodes that are up; name "
                                      "the hosts to start agents on");
    }
    hosts->push_back(std::move(host));
  }
  return Status();
}

void AddNodes(UpOptions* to, OptionTable* table) {
  table->push_back({"nodes", 1, "K",
                    "use the first K of the hosts or of the nodes of the\n"
                    "batch job",
                    SetNumber(&to->nodes, 1, kMaxListedNames)});
  table->push_back({"emulate", 1, "K",
                    "emulate K nodes, node1 to nodeK, on this machine",
                    SetNumber(&to->emulate, 1, kMaxEmulated)});
  table->push_back(
      {"hosts host H", 1, "A,B...", "start one agent on each of these hosts",
       [to](const TypedOption& typed) {
         return AddHosts(ParseHostList(typed.values[0]), &to->hosts);
       }});
  table->push_back({"hostfile machinefile", 1, "FILE",
                    "read the hosts from a file: lines of\n"
                    "NAME [slots=N] [aliases=A,B]",
                    [to](const TypedOption& typed) {
                      return AddHosts(LoadHostfile(typed.values[0]),
                                      &to->hosts);
                    }});
}

void AddChanges(UpOptions* to, OptionTable* table) {
  table->push_back({"apply", 0, "",
                    "if the overlay is up, add the hosts that it lacks, and\n"
                    "remove the nodes that are not named",
                    SetFlag(&to->apply)});
}

void AddLives(UpOptions* to, OptionTable* table) {
  table->push_back({"timeout", 1, "SECONDS",
                    "time limit for the start of the agents (60)",
                    SetSeconds(&to->timeout_seconds, 1, kMaxSeconds)});
  table->push_back({"allow-missing", 0, "",
                    "continue with the hosts that answer in half of this\n"
                    "time, and name the others",
                    SetFlag(&to->allow_missing)});
  table->push_back({"orphan-grace", 1, "SECONDS",
                    "how long processes survive without their agent",
                    SetMilliseconds(&to->orphan_grace_ms, 0, kMaxSeconds)});
  table->push_back({"restart-grace", 1, "SECONDS",
                    "how long an agent that has ended can be replaced,\n"
                    "with --replace, before its node counts as lost",
                    SetMilliseconds(&to->restart_grace_ms, 0, kMaxSeconds)});
  table->push_back({"replace", 0, "",
                    "replace each agent, including those that have ended,\n"
                    "one after the other; jobs continue",
                    SetFlag(&to->replace)});
}

void AddLimits(UpOptions* to, OptionTable* table) {
  table->push_back({"max-jobs-per-user", 1, "N",
                    "how many jobs of one user may run or be queued (2048)",
                    SetNumber(&to->max_jobs_per_user, 1, kMaxUserJobs)});
  table->push_back({"max-procs-per-user", 1, "N",
                    "how many processes these jobs may have (65536, or 4\n"
                    "for each slot if that is more)",
                    SetNumber(&to->max_procs_per_user, 1, kMaxUserProcs)});
}

void AddScheduler(UpOptions* to, OptionTable* table) {
  table->push_back({"host-module", 1, "ADDRESS",
                    "let a scheduler decide where and when jobs run: its\n"
                    "service canopy.hostmodule.v1.HostModuleService at\n"
                    "unix:PATH or HOST:PORT",
                    [to](const TypedOption& typed) {
                      to->host_module = typed.values[0];
                      return CheckSchedulerAddress(to->host_module);
                    }});
  table->push_back({"host-module-fallback", 0, "",
                    "let agents decide what the scheduler does not\n"
                    "implement, as they do without a scheduler",
                    SetFlag(&to->host_module_fallback)});
}

}  // namespace

OptionTable UpOptionTable(UpOptions* to) {
  OptionTable table;
  AddNodes(to, &table);
  AddChanges(to, &table);
  AddAgentOptions(&to->agents, &table);
  table.push_back({"key-file", 1, "FILE",
                   "file with the cluster key, 64 hexadecimal digits\n"
                   "(default: a new key)",
                   SetText(&to->key_file)});
  table.push_back({"reflection", 0, "",
                   "enable gRPC server reflection in the agents",
                   SetFlag(&to->reflection)});
  table.push_back({"system", 0, "",
                   "make these agents the PMIx system servers of their\n"
                   "machines (one per machine)",
                   SetFlag(&to->system)});
  AddScheduler(to, &table);
  AddLives(to, &table);
  AddLimits(to, &table);
  table.push_back({"verbose v", 0, "", "report each step and how long it takes",
                   SetFlag(&to->verbose)});
  table.push_back(
      {"quiet q", 0, "", "print nothing on success", SetFlag(&to->quiet)});
  return table;
}

Status CheckUpOptions(const UpOptions& options, bool allocated) {
  if (options.emulate != 0 && (!options.hosts.empty() || options.nodes != 0)) {
    return Status(kErrBadParam,
                  "--emulate makes nodes on this machine, and --hosts and "
                  "--nodes name others; use one of them");
  }
  if (!options.agents.launch_agent.empty() && options.hosts.empty() &&
      !allocated) {
    return Status(kErrBadParam,
                  "--launch-agent reaches hosts; name them with --hosts");
  }
  if (options.host_module_fallback && options.host_module.empty()) {
    return Status(kErrBadParam,
                  "--host-module-fallback goes together with --host-module");
  }
  if (options.apply && options.hosts.empty() && options.emulate == 0) {
    return Status(kErrBadParam,
                  "--apply needs the nodes: name them with --hosts, --hostfile "
                  "or --emulate");
  }
  return CheckAgentOptions(options.agents);
}

}  // namespace canopy::cli
