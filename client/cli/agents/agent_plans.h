// Which agents an overlay consists of, and how each is started.
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
  uint32_t slots = 0;  // 0: as many as cores
  // The remote-launch command, to which canopyd's path is appended and which
  // connects its input and output; empty: it is started here.
  std::vector<std::string> remote_command;
};

struct OverlayPlan {
  std::vector<AgentSite> sites;  // index: the member's number
  uint32_t radix = 0;            // 0: the default
  bool embedded = false;
  bool emulated = false;  // several agents on this machine
  // "tls", "plaintext" or "files"; empty: tls, on loopback too, where every
  // user of the machine can connect.
  std::string security;
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  std::string listen;       // HOST; empty: loopback here, else each one's own
  std::string pmix_listen;  // numeric address; empty: loopback
  std::string context;      // its name on this side
  std::string overlay_id;   // 16 random bytes
  std::string cluster_key;  // 32 bytes
  std::string log_level;    // empty: warnings
  // Directory of this machine whose sub-directories the agents here use;
  // empty: they find their own.
  std::string runtime_dir;
  uint32_t loss_timeout_ms = 0;  // 0: the default
  bool reflection = false;
  bool system = false;  // tools take an agent for its machine's system server
  uint32_t orphan_grace_ms = 0;
  uint32_t restart_grace_ms = 0;
  std::string host_module;  // as in bootstrap.Config
  bool host_module_fallback = false;

  bool all_here() const;
};

// Takes over all of them but the launch agent, which is the sites'.
void UseAgentOptions(const AgentOptions& options, OverlayPlan* plan);

// `count` nodes of this machine: node1 to nodeN, or for one its host name. They
// have the slots that `hosts` gives them, as the nodes of HostSites have.
std::vector<AgentSite> EmulatedSites(uint32_t count,
                                     const std::vector<Host>& hosts = {});

// One node for each host; different names of this machine are one node. A host
// that is named several times without a count has a slot for each. The launch
// agent is a command with {host} in it; empty: agents of this machine are
// started directly, others by `remote`. Relative entries ("+n0") are no hosts
// and refused.
Result<std::vector<AgentSite>> HostSites(
    const std::vector<Host>& hosts, const std::string& launch_agent,
    const std::string& remote = kDefaultLaunchAgent);

// A new identity and key, and the plans in the order of the sites.
void MakeIdentity(OverlayPlan* plan);
std::vector<AgentPlan> MakeAgentPlans(const OverlayPlan& plan);

// Path of canopyd.
std::string AgentProgram();
// The command that brings up a new agent in the place of one that has left
// `runtime_dir` behind; without a launch agent: on this machine.
Result<std::vector<std::string>> RestartCommand(const std::string& launch_agent,
                                                const std::string& host,
                                                const std::string& runtime_dir);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENTS_AGENT_PLANS_H_
