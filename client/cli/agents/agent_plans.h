// Plans an overlay: determines its agents, and the command and configuration of
// each.
#ifndef CANOPY_CLIENT_CLI_AGENTS_AGENT_PLANS_H_
#define CANOPY_CLIENT_CLI_AGENTS_AGENT_PLANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/agents/agent_group.h"
#include "client/cli/options/agent_options.h"
#include "common/hosts.h"
#include "common/status.h"

namespace canopy::cli {

inline constexpr uint32_t kDefaultRadix = 32;
inline constexpr char kDefaultLaunchAgent[] = "ssh -x -o BatchMode=yes {host}";

// One node of the overlay.
struct AgentSite {
  std::string name;
  std::vector<std::string> aliases;
  uint32_t slots = 0;  // 0: the number of cores
  // The remote-launch command. The path of canopyd is appended to it, and it
  // connects its own standard input and output with the agent's. If it is
  // empty, the agent is started on this machine.
  std::vector<std::string> remote_command;
};

// Returns true if `name` is the name of the site or one of its aliases.
bool IsCalled(const AgentSite& site, const std::string& name);

struct OverlayPlan {
  std::vector<AgentSite> sites;  // index: the member's number
  uint32_t radix = 0;            // 0: the default
  bool embedded = false;
  bool emulated = false;  // several agents run on this machine
  // "tls", "plaintext" or "files". Empty means "tls", on loopback too, because
  // every user of the machine can connect there.
  std::string security;
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  std::vector<std::string> tls_names;
  // The host at which agents listen. Empty: loopback if all agents are on this
  // machine; otherwise each agent listens at its own address.
  std::string listen;
  std::string pmix_listen;  // numeric address; empty: loopback
  std::string context;      // name of the context on this machine
  std::string overlay_id;   // 16 random bytes
  std::string cluster_key;  // 32 bytes
  std::string log_level;    // empty: warnings
  // The agents of this machine use sub-directories of this directory. Empty:
  // each agent chooses its own directory.
  std::string runtime_dir;
  uint32_t loss_timeout_ms = 0;  // 0: the default
  bool reflection = false;
  // Tools use an agent as the system server of its machine.
  bool system = false;
  uint32_t orphan_grace_ms = 0;
  uint32_t restart_grace_ms = 0;
  uint32_t max_jobs_per_user = 0;   // 0: the default
  uint32_t max_procs_per_user = 0;  // 0: the default
  std::string host_module;          // as in bootstrap.Config
  bool host_module_fallback = false;

  // Returns true if all agents are started on this machine.
  bool all_here() const;
};

// Copies all options except the launch agent, which belongs to the sites.
void UseAgentOptions(const AgentOptions& options, OverlayPlan* plan);

// Returns `count` nodes on this machine, named node1 to nodeN. A single node
// also has the names of this machine. The nodes get the slots that `hosts`
// gives them, counted as in HostSites. Returns kErrBadParam for more than
// kMaxEmulated nodes.
Result<std::vector<AgentSite>> EmulatedSites(
    uint32_t count, const std::vector<Host>& hosts = {});
// Returns this machine as the only node, under its host name and the alias
// node1, with the slots that `hosts` gives it.
std::vector<AgentSite> OwnSite(const std::vector<Host>& hosts = {});

// Returns the warning for a user who requests a number of nodes without naming
// any: `reason`, and the statement that `count` nodes are emulated.
std::string EmulationWarning(const std::string& reason, size_t count);

// Returns one node for each host; several names of this machine are one node.
// The counts of several mentions of a host add up, where a mention without a
// count counts as 1. The agent of this machine is started directly, and others
// by `launch_agent`, a command that contains {host}, or by `remote` if
// `launch_agent` is empty. With `launches_all` the command also starts the
// agent of this machine. Relative entries ("+n0") are rejected, because there
// is no list to which they could refer.
Result<std::vector<AgentSite>> HostSites(
    const std::vector<Host>& hosts, const std::string& launch_agent,
    const std::string& remote = kDefaultLaunchAgent, bool launches_all = false);

// Returns the first `count` of the sites, or all if `count` is 0. Returns
// kErrJobInsufficientResources if there are fewer; `source` names the list in
// the message.
Result<std::vector<AgentSite>> FirstSites(std::vector<AgentSite> sites,
                                          uint32_t count,
                                          const std::string& source);

// Sets a new random overlay id in `plan`, and a new random cluster key unless
// `plan` has a key.
void MakeIdentity(OverlayPlan* plan);
// Returns the command and the configuration of each site's agent, in the order
// of the sites.
std::vector<AgentPlan> MakeAgentPlans(const OverlayPlan& plan);

// Returns the path of canopyd.
std::string AgentProgram();
// Returns the command that starts a successor of the agent that used
// `runtime_dir`. Without a launch agent the command starts it on this machine.
// Returns kErrBadParam if `launch_agent` is not a command that contains {host}.
Result<std::vector<std::string>> RestartCommand(const std::string& launch_agent,
                                                const std::string& host,
                                                const std::string& runtime_dir);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_AGENT_PLANS_H_
