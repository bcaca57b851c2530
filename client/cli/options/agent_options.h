// Options for starting agents, which `canopy up` shares with a `canopy run`
// that starts its own agents.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_AGENT_OPTIONS_H_
#define CANOPY_CLIENT_CLI_OPTIONS_AGENT_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/options/option_parser.h"
#include "common/status.h"

namespace canopy::cli {

// The most nodes that one machine emulates.
inline constexpr uint32_t kMaxEmulated = 1024;

struct AgentOptions {
  std::string launch_agent;  // empty: ssh for other hosts
  uint32_t radix = 0;        // 0: the default
  std::string security;      // "tls", "files", "plaintext"; empty: the default
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  std::vector<std::string> tls_names;
  std::string listen;
  std::string pmix_listen;
  std::string log_level;         // empty: the default
  uint32_t loss_timeout_ms = 0;  // 0: the default
};

inline constexpr char kPlaintextWarning[] =
    "warning: --security plaintext: anyone who can read or change what is sent "
    "between the nodes can read your data and run programs in your name";

// Adds the options, which set `to`, to the table of a command.
void AddAgentOptions(AgentOptions* to, OptionTable* table);
// Checks conditions that involve several options; called after all options have
// been applied.
Status CheckAgentOptions(const AgentOptions& options);
// Returns the names of the given options that affect only agents that are
// started now, for example "--radix". Security options are not included,
// because they can be compared with those of a running overlay.
std::vector<std::string> GivenStartOptions(const AgentOptions& options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_AGENT_OPTIONS_H_
