// What `canopy up` was asked for.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_UP_OPTIONS_H_
#define CANOPY_CLIENT_CLI_OPTIONS_UP_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/options/agent_options.h"
#include "client/cli/options/option_parser.h"
#include "common/hosts.h"
#include "common/status.h"

namespace canopy::cli {

struct UpOptions {
  uint32_t nodes = 0;  // emulated; 0: not asked for
  std::vector<Host> hosts;
  AgentOptions agents;
  std::string key_file;
  uint32_t timeout_seconds = 60;
  bool reflection = false;
  bool system = false;  // its agents are their machines' system servers
  uint32_t orphan_grace_ms = 0;
  uint32_t restart_grace_ms = 0;
  std::string host_module;  // unix:PATH or HOST:PORT; empty: no scheduler
  bool host_module_fallback = false;
  bool replace = false;
  bool verbose = false;
  bool quiet = false;
};

// The options, which set `to`. Those that name a hostfile read it.
OptionTable UpOptionTable(UpOptions* to);
// What can be said only when all options are known. `allocated`: hosts are
// known without being named.
Status CheckUpOptions(const UpOptions& options, bool allocated);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_UP_OPTIONS_H_
