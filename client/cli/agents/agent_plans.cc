#include "client/cli/agents/agent_plans.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>

#include "client/cli/base/table.h"
#include "client/cli/base/this_machine.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

std::string RandomBytes(size_t n) {
  std::string bytes(n, '\0');
  if (getrandom(bytes.data(), n, 0) == static_cast<ssize_t>(n)) return bytes;
  std::random_device device;
  for (char& c : bytes) c = static_cast<char>(device());
  return bytes;
}

// ssh and rsh pass their arguments to a shell on the other side, so the words
// must be quoted for that shell.
bool GoesThroughShell(const std::vector<std::string>& remote_command) {
  const std::string& program = remote_command[0];
  const std::string name = program.substr(program.rfind('/') + 1);
  return name == "ssh" || name == "rsh";
}

Result<std::vector<std::string>> RemoteCommand(const std::string& launch_agent,
                                               const std::string& host) {
  const auto words = SplitCommand(launch_agent);
  if (!words || words->empty() ||
      launch_agent.find("{host}") == std::string::npos) {
    return Status(kErrBadParam,
                  "--launch-agent needs a command that contains {host}, as in "
                  "'ssh {host}', not '" +
                      launch_agent + "'");
  }
  std::vector<std::string> remote_command = *words;
  for (std::string& word : remote_command) ReplaceAll(&word, "{host}", host);
  return remote_command;
}

std::string WithoutUser(const std::string& host) {
  return host.substr(host.find('@') + 1);
}

void AddAlias(AgentSite* site, const std::string& alias) {
  if (IsCalled(*site, alias)) return;
  site->aliases.push_back(alias);
}

AgentSite ThisSite() {
  AgentSite site;
  site.name = HostName();
  AddAlias(&site, "localhost");
  AddAlias(&site, site.name.substr(0, site.name.find('.')));
  return site;
}

// Adds the names of this machine to the aliases of its only node.
void AddNamesOf(const AgentSite& machine, AgentSite* site) {
  AddAlias(site, machine.name);
  for (const std::string& alias : machine.aliases) AddAlias(site, alias);
}

// Counts the mentions of a site in a list of hosts.
struct Mentions {
  uint32_t slots = 0;
  uint32_t uncounted = 0;

  // If a host is named several times, its slots add up, as in the mapper; a
  // mention without a count adds one slot. A single mention without a count
  // leaves the number of slots open.
  void Add(const Host& host) {
    if (!host.slots_given) ++uncounted;
    slots += std::min(host.slots_given ? host.slots : 0, UINT32_MAX - slots);
  }
  uint32_t Slots() const {
    if (slots == 0 && uncounted < 2) return 0;
    return slots + std::min(uncounted, UINT32_MAX - slots);
  }
};

void SetSlots(const std::vector<Host>& hosts, std::vector<AgentSite>* sites) {
  for (AgentSite& site : *sites) {
    Mentions said;
    for (const Host& host : hosts) {
      if (IsCalled(site, WithoutUser(host.name))) said.Add(host);
    }
    site.slots = said.Slots();
  }
}

Status PicksFromNothing(const Host& host) {
  return Status(kErrBadParam, "'" + host.name +
                                  "' selects nodes of an overlay, and "
                                  "none is up; name the host, or use 'canopy "
                                  "up' first");
}

// Returns the configuration that all agents share.
bootstrap::v1::Config SharedConfig(const OverlayPlan& plan) {
  const bool local = plan.all_here();
  bootstrap::v1::Config shared;
  shared.set_version(1);
  shared.set_overlay_id(plan.overlay_id);
  shared.set_cluster_key(plan.cluster_key);
  shared.set_context(plan.context);
  shared.set_radix(plan.radix == 0 ? kDefaultRadix : plan.radix);
  shared.set_security(plan.security.empty() ? "tls" : plan.security);
  shared.set_tls_ca(plan.tls_ca);
  shared.set_tls_cert(plan.tls_cert);
  shared.set_tls_key(plan.tls_key);
  for (const std::string& name : plan.tls_names) shared.add_tls_names(name);
  shared.set_listen(plan.listen.empty() && local ? "127.0.0.1" : plan.listen);
  shared.set_pmix_listen(plan.pmix_listen);
  shared.set_embedded(plan.embedded);
  shared.set_emulated(plan.emulated);
  shared.set_log_level(plan.log_level);
  shared.set_loss_timeout_ms(plan.loss_timeout_ms);
  shared.set_reflection(plan.reflection);
  shared.set_orphan_grace_ms(plan.orphan_grace_ms);
  shared.set_restart_grace_ms(plan.restart_grace_ms);
  shared.set_max_jobs_per_user(plan.max_jobs_per_user);
  shared.set_max_procs_per_user(plan.max_procs_per_user);
  shared.set_host_module(plan.host_module);
  shared.set_host_module_fallback(plan.host_module_fallback);
  if (const char* dir = std::getenv("CANOPY_LIBRARY_DIR"); dir != nullptr) {
    shared.set_library_dir(dir);
  }
  for (const AgentSite& site : plan.sites) {
    shared.add_member_names(site.name);
  }
  return shared;
}

}  // namespace

bool IsCalled(const AgentSite& site, const std::string& name) {
  return name == site.name || std::ranges::count(site.aliases, name) > 0;
}

bool OverlayPlan::all_here() const {
  return std::ranges::all_of(
      sites, [](const AgentSite& site) { return site.remote_command.empty(); });
}

void UseAgentOptions(const AgentOptions& options, OverlayPlan* plan) {
  plan->radix = options.radix;
  plan->security = options.security;
  plan->tls_ca = options.tls_ca;
  plan->tls_cert = options.tls_cert;
  plan->tls_key = options.tls_key;
  plan->tls_names = options.tls_names;
  plan->listen = options.listen;
  plan->pmix_listen = options.pmix_listen;
  plan->log_level = options.log_level;
  plan->loss_timeout_ms = options.loss_timeout_ms;
}

Result<std::vector<AgentSite>> EmulatedSites(uint32_t count,
                                             const std::vector<Host>& hosts) {
  if (count > kMaxEmulated) {
    return Status(kErrBadParam, "one machine can emulate " +
                                    std::to_string(kMaxEmulated) +
                                    " nodes, not " + std::to_string(count));
  }
  std::vector<AgentSite> sites(count);
  for (uint32_t i = 0; i < count; ++i) {
    sites[i].name = "node" + std::to_string(i + 1);
  }
  if (count == 1) AddNamesOf(ThisSite(), &sites[0]);
  SetSlots(hosts, &sites);
  return sites;
}

std::vector<AgentSite> OwnSite(const std::vector<Host>& hosts) {
  std::vector<AgentSite> sites = {ThisSite()};
  AddAlias(&sites[0], "node1");
  SetSlots(hosts, &sites);
  return sites;
}

std::string EmulationWarning(const std::string& reason, size_t count) {
  const std::string text = std::to_string(count);
  return reason + ": emulating " + text +
         " nodes on this machine, as --emulate " + text + " does";
}

Result<std::vector<AgentSite>> HostSites(const std::vector<Host>& hosts,
                                         const std::string& launch_agent,
                                         const std::string& remote,
                                         bool launches_all) {
  std::vector<AgentSite> sites;
  std::vector<Mentions> mentions;
  size_t here = SIZE_MAX;  // index of the site of this machine
  for (const Host& host : hosts) {
    if (host.relative()) return PicksFromNothing(host);
    const std::string name = WithoutUser(host.name);
    const bool local = !launches_all && IsThisMachine(name);
    if (local && here == SIZE_MAX) {
      here = sites.size();
      sites.push_back(ThisSite());
    }
    auto known = std::ranges::find(sites, name, &AgentSite::name);
    if (local) known = sites.begin() + static_cast<std::ptrdiff_t>(here);
    if (known == sites.end()) {
      Result<std::vector<std::string>> remote_command = RemoteCommand(
          launch_agent.empty() ? remote : launch_agent, host.name);
      if (!remote_command.ok()) return remote_command.status();
      known = sites.insert(known, {name, {}, 0, *std::move(remote_command)});
    }
    mentions.resize(sites.size());
    Mentions& said = mentions[static_cast<size_t>(known - sites.begin())];
    said.Add(host);
    known->slots = said.Slots();
    AddAlias(&*known, name);
    for (const std::string& alias : host.aliases) AddAlias(&*known, alias);
  }
  return sites;
}

Result<std::vector<AgentSite>> FirstSites(std::vector<AgentSite> sites,
                                          uint32_t count,
                                          const std::string& source) {
  if (count > sites.size()) {
    return Status(kErrJobInsufficientResources,
                  "--nodes " + std::to_string(count) + ": " + source +
                      " has only " + Count(sites.size(), "node"));
  }
  if (count != 0) sites.resize(count);
  return sites;
}

void MakeIdentity(OverlayPlan* plan) {
  plan->overlay_id = RandomBytes(16);
  if (plan->cluster_key.empty()) plan->cluster_key = RandomBytes(32);
}

std::string AgentProgram() { return ProgramBeside("CANOPYD", "canopyd"); }

Result<std::vector<std::string>> RestartCommand(
    const std::string& launch_agent, const std::string& host,
    const std::string& runtime_dir) {
  std::vector<std::string> command;
  std::vector<std::string> agent = {AgentProgram(), "--restart", runtime_dir};
  if (!launch_agent.empty()) {
    Result<std::vector<std::string>> remote_command =
        RemoteCommand(launch_agent, host);
    if (!remote_command.ok()) return remote_command.status();
    command = *std::move(remote_command);
    if (GoesThroughShell(command)) {
      for (std::string& word : agent) word = ShellQuoted(word);
    }
  }
  command.insert(command.end(), agent.begin(), agent.end());
  return command;
}

std::vector<AgentPlan> MakeAgentPlans(const OverlayPlan& plan) {
  const std::string program = AgentProgram();
  const bootstrap::v1::Config shared = SharedConfig(plan);
  std::vector<AgentPlan> plans;
  for (const AgentSite& site : plan.sites) {
    AgentPlan& agent = plans.emplace_back();
    agent.command = site.remote_command;
    agent.command.push_back(!site.remote_command.empty() &&
                                    GoesThroughShell(site.remote_command)
                                ? ShellQuoted(program)
                                : program);
    agent.command.push_back("--bootstrap");
    agent.config = shared;
    agent.config.set_self(static_cast<uint32_t>(plans.size() - 1));
    // Only the first of several agents of a machine is its system server.
    agent.config.set_system_server(plan.system &&
                                   (!plan.emulated || plans.size() == 1));
    agent.config.set_node_name(site.name);
    agent.config.set_slots(site.slots);
    for (const std::string& alias : site.aliases) {
      agent.config.add_aliases(alias);
    }
    if (site.remote_command.empty() && !plan.runtime_dir.empty()) {
      agent.config.set_runtime_dir(plan.runtime_dir + "/" +
                                   std::to_string(plans.size() - 1));
    }
  }
  return plans;
}

}  // namespace canopy::cli
