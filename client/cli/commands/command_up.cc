#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "client/cli/agents/agent_plans.h"
#include "client/cli/agents/allocation_sites.h"
#include "client/cli/agents/overlay_context.h"
#include "client/cli/base/command.h"
#include "client/cli/base/progress_line.h"
#include "client/cli/base/signals.h"
#include "client/cli/base/table.h"
#include "client/cli/base/timeline.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/commands/node_addition.h"
#include "client/cli/commands/node_changes.h"
#include "client/cli/commands/replace.h"
#include "client/cli/config/the_config.h"
#include "client/cli/context/context.pb.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/context/context_store.h"
#include "client/cli/control/context_target.h"
#include "client/cli/control/job_target.h"
#include "client/cli/options/agent_config.h"
#include "client/cli/options/agent_options.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/up_options.h"
#include "common/posix/run_dir.h"
#include "server/security/cluster_key.h"

namespace canopy::cli {
namespace {

constexpr char kAbout[] =
    "Starts an agent on each node. The agents stay up, as an overlay that\n"
    "'canopy run' uses. Without hosts, the nodes are those of the current\n"
    "allocation of Slurm, PBS or Grid Engine, or else this machine.\n";

std::string ContextName(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* const said = std::getenv("CANOPY_CONTEXT");
  if (said != nullptr && *said != '\0') return said;
  return DefaultContextName(&getenv);
}

// Returns the overlay of this name, if its agents answer. Otherwise frees the
// name.
Result<std::optional<OverlayTarget>> TakeName(const ContextStore& store,
                                              const std::string& name) {
  using Found = std::optional<OverlayTarget>;
  if (Status status = CheckContextName(name); !status.ok()) return status;
  if (IsRunDirName(name)) {
    return Status(kErrBadParam, "'" + name +
                                    "' is the name of the agents of a 'canopy "
                                    "run'; choose another --context");
  }
  Result<std::vector<std::string>> known = store.List();
  if (!known.ok()) return known.status();
  if (std::find(known->begin(), known->end(), name) == known->end()) {
    return Found();
  }
  Result<v1::Context> old = store.Load(name);
  if (!old.ok()) return old.status();
  Result<RootAgent> root = ConnectRoot(*old);
  if (root.ok()) {
    return Found(OverlayTarget{*std::move(old), *std::move(root)});
  }
  if (!old->cluster_file().empty()) return root.status();
  PrintError("replacing context '" + name +
             "', whose agents do not answer any more");
  RemoveDirectoriesOf(*old, [](const auto&) { return true; });
  store.Remove(name);
  return Found();
}

Result<std::string> LoadKey(const std::string& path) {
  Result<security::ClusterKey> key = security::ClusterKey::Load(path);
  if (!key.ok()) return key.status();
  const std::string hex = key->ToHex();
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// Returns the allocation whose nodes are used, or no value if the options name
// nodes.
Result<std::optional<Allocation>> UsedAllocation(const UpOptions& options) {
  if (options.emulate != 0 || !options.hosts.empty() || options.replace) {
    return std::optional<Allocation>();
  }
  return FindAllocation(&getenv);
}

// Returns the number of nodes to emulate, or 0 if the options or a batch system
// name nodes.
uint32_t EmulatedNodes(const UpOptions& options,
                       const std::optional<Allocation>& allocation) {
  if (options.emulate != 0) return options.emulate;
  if (!options.hosts.empty() || allocation.has_value()) return 0;
  return std::max(options.nodes, 1u);
}

// Prints a warning if nodes are emulated although --emulate is not given.
void WarnOfEmulation(const UpOptions& options,
                     const std::optional<Allocation>& allocation) {
  if (options.emulate != 0 || options.quiet) return;
  if (EmulatedNodes(options, allocation) < 2) return;
  PrintError(EmulationWarning("no hosts are named", options.nodes));
}

Result<std::vector<AgentSite>> SitesOf(
    const UpOptions& options, const std::optional<Allocation>& allocation) {
  const std::string& launch_agent = options.agents.launch_agent;
  const uint32_t emulated = EmulatedNodes(options, allocation);
  if (emulated == 1 && options.emulate == 0) return OwnSite();
  if (emulated > 0) return EmulatedSites(emulated);
  Result<std::vector<AgentSite>> sites =
      allocation ? AllocationSites(*allocation, launch_agent)
                 : HostSites(options.hosts, launch_agent,
                             TheConfig()->at("launch-agent").text);
  if (!sites.ok()) return sites;
  return FirstSites(*std::move(sites), options.nodes,
                    allocation ? allocation->job : "the list of hosts");
}

Status IsUpAlready(const v1::Context& context, const UpOptions& options,
                   const NodeChanges& changes) {
  const std::string& name = context.name();
  const bool names_nodes = !options.hosts.empty() || options.emulate != 0;
  const std::string change =
      names_nodes && !changes.empty()
          ? "; with --apply, this command would " + changes.Text()
          : "";
  return Status(
      kErrExists,
      "context '" + name + "' is up already (" +
          Count(static_cast<uint64_t>(context.members_size()), "node") + ")" +
          change + "; end it with 'canopy down --context " + name +
          "' or choose another --context");
}

int PrintUp(const v1::Context& context, const UpOptions& options, bool json) {
  if (json) return PrintDocument(ContextDocument(context));
  if (options.quiet) return 0;
  uint64_t slots = 0;
  for (const auto& node : context.members()) slots += node.slots();
  std::string text =
      "context " + context.name() + " is up: " +
      Count(static_cast<uint64_t>(context.members_size()), "node") + ", " +
      Count(slots, "slot") + "\n";
  return PrintText(text);
}

// With --apply, changes the overlay to the nodes of the options.
int ChangeRunning(OverlayTarget* overlay, const UpOptions& options,
                  const std::optional<Allocation>& allocation, bool json) {
  const Result<std::vector<AgentSite>> sites = SitesOf(options, allocation);
  if (!sites.ok()) return Fail(sites.status());
  const NodeChanges changes = ChangesTo(*sites, overlay->context);
  if (!options.apply) {
    return Fail(IsUpAlready(overlay->context, options, changes));
  }
  NodeAdditionOptions addition;
  addition.launch_agent = options.agents.launch_agent;
  addition.listen = options.agents.listen;
  addition.timeout_seconds = options.timeout_seconds;
  addition.quiet = options.quiet;
  const Status status = ApplyChanges(changes, addition, overlay);
  return status.ok() ? PrintUp(overlay->context, options, json) : Fail(status);
}

Result<OverlayPlan> MakePlan(const UpOptions& options, const std::string& name,
                             const std::optional<Allocation>& allocation) {
  OverlayPlan plan;
  Result<std::vector<AgentSite>> sites = SitesOf(options, allocation);
  if (!sites.ok()) return sites.status();
  plan.sites = *std::move(sites);
  plan.embedded = allocation.has_value();
  plan.emulated =
      options.emulate != 0 || EmulatedNodes(options, allocation) > 1;
  UseAgentOptions(options.agents, &plan);
  plan.context = name;
  plan.reflection = options.reflection;
  plan.system = options.system;
  plan.orphan_grace_ms = options.orphan_grace_ms;
  plan.restart_grace_ms = options.restart_grace_ms;
  plan.max_jobs_per_user = options.max_jobs_per_user;
  plan.max_procs_per_user = options.max_procs_per_user;
  plan.host_module = options.host_module;
  plan.host_module_fallback = options.host_module_fallback;
  if (!options.key_file.empty()) {
    Result<std::string> key = LoadKey(options.key_file);
    if (!key.ok()) return key.status();
    plan.cluster_key = *std::move(key);
  }
  MakeIdentity(&plan);
  return plan;
}

// Agents of an allocation end with their remote-launch commands, so this
// function makes the commands run on after this process. If the batch system
// does not end the commands, they end with the session of the job's script.
Status LeaveInAllocation(const Allocation& allocation,
                         const v1::Context& context, const ContextStore& store,
                         AgentGroup* group) {
  int session = -1;
  if (!allocation.launches_all && getsid(0) != getpid()) {
    session = static_cast<int>(syscall(SYS_pidfd_open, getsid(0), 0));
  }
  Status status = group->Detach(session, [&store, &context] {
    // After a `canopy down` another overlay may use the name.
    const Result<v1::Context> now = store.Load(context.name());
    if (now.ok() && now->overlay_id() == context.overlay_id()) {
      store.Remove(context.name());
    }
  });
  if (session >= 0) close(session);
  return status;
}

Status WaitFor(AgentGroup* group, const UpOptions& options, int interrupt_fd) {
  ProgressLine line(STDERR_FILENO, !options.quiet);
  Status status =
      group->WaitReady(static_cast<int>(options.timeout_seconds) * 1000,
                       interrupt_fd, [&line](const std::string& text) {
                         line.Set(text);
                         line.Tick();
                       });
  line.Clear();
  if (status.ok() && !group->missing().empty()) PrintError(group->missing());
  return status;
}

int BringUp(const OverlayPlan& plan, const UpOptions& options,
            const std::optional<Allocation>& allocation, bool json,
            const ContextStore& store) {
  const Timeline timeline(options.verbose);
  SignalSource signals;
  AgentGroup group;
  std::vector<AgentPlan> agents = MakeAgentPlans(plan);
  v1::Context context =
      MakeContext(plan, agents[0].config,
                  options.agents.launch_agent.empty() && !allocation
                      ? TheConfig()->Text("launch-agent")
                      : options.agents.launch_agent);
  timeline.Note("starting " + Count(agents.size(), "agent"));
  if (options.allow_missing) group.AllowMissing();
  if (Status s = group.Start(std::move(agents)); !s.ok()) return Fail(s);
  Status status = WaitFor(&group, options, signals.fd());
  if (!status.ok()) {
    const std::optional<int> signal = signals.Take();
    if (signal.has_value()) {
      PrintError("interrupted; the agents are ended");
      return kExitSignal + *signal;
    }
    return Fail(status);
  }
  timeline.Note("agents up");
  AddMembers(group.nodes(), &context);
  status = store.Save(context);
  if (!status.ok()) {
    Result<RootAgent> root = ConnectRoot(context);
    if (root.ok()) (void)root->client.Shutdown(true);
    return Fail(status);
  }
  if (allocation.has_value()) {
    status = LeaveInAllocation(*allocation, context, store, &group);
    if (!status.ok()) return Fail(status);
  }
  return PrintUp(context, options, json);
}

}  // namespace

int UpCommand(const CommandLine& line) {
  UpOptions options;
  SharedOptions shared;
  const CommandInfo info = {
      "up", "[options]", kAbout, UpOptionTable(&options), 0, 0};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const Result<std::optional<Allocation>> allocation = UsedAllocation(options);
  if (!allocation.ok()) return Fail(allocation.status());
  Status status = UseConfig(*TheConfig(), allocation->has_value(), &options);
  if (!status.ok()) return Fail(status);
  status = CheckUpOptions(options, allocation->has_value());
  if (!status.ok()) return FailUsage("up", status);
  const ContextStore store;
  if (options.replace) {
    Result<v1::Context> context = NeedOverlay(shared.context);
    if (!context.ok()) return Fail(context.status());
    if (context->has_launcher()) {
      return Fail(Status(kErrNotSupported,
                         "the agents of " + context->name() +
                             " end with their 'canopy run' and cannot be "
                             "replaced"));
    }
    return ReplaceAgents(&*context, options, shared.json, store);
  }
  const std::string name = ContextName(shared.context);
  Result<std::optional<OverlayTarget>> running = TakeName(store, name);
  if (!running.ok()) return Fail(running.status());
  if (running->has_value()) {
    return ChangeRunning(&**running, options, *allocation, shared.json);
  }
  if (options.agents.security == "plaintext") PrintError(kPlaintextWarning);
  WarnOfEmulation(options, *allocation);
  Result<OverlayPlan> plan = MakePlan(options, name, *allocation);
  if (!plan.ok()) return Fail(plan.status());
  return BringUp(*plan, options, *allocation, shared.json, store);
}

}  // namespace canopy::cli
