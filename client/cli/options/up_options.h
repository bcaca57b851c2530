// The parsed command line of `canopy up`.
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
  // The number of hosts, or of nodes of the batch job, to use; 0: all.
  uint32_t nodes = 0;
  uint32_t emulate = 0;  // number of emulated nodes; 0: not requested
  std::vector<Host> hosts;
  AgentOptions agents;
  std::string key_file;
  uint32_t timeout_seconds = 0;  // 0: not given
  bool allow_missing = false;    // continue with the hosts that answer
  bool reflection = false;       // agents serve gRPC server reflection
  bool system = false;  // agents act as the system servers of their machines
  uint32_t orphan_grace_ms = 0;  // time that processes survive without agent
  // Time in which an agent that has ended can be replaced before its node
  // counts as lost.
  uint32_t restart_grace_ms = 0;
  uint32_t max_jobs_per_user = 0;   // 0: not given
  uint32_t max_procs_per_user = 0;  // 0: not given
  std::string host_module;  // unix:PATH or HOST:PORT; empty: no scheduler
  // Agents decide what the scheduler does not implement.
  bool host_module_fallback = false;
  bool replace = false;  // replace the agents of an overlay that is up
  bool apply = false;    // change the nodes of an overlay that is up
  bool verbose = false;
  bool quiet = false;
};

// Returns the options, which set `to`. Options that name a hostfile read it.
OptionTable UpOptionTable(UpOptions* to);
// Checks conditions that involve several options; called after all options have
// been applied. `allocated` is true if an allocation provides the hosts.
Status CheckUpOptions(const UpOptions& options, bool allocated);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_UP_OPTIONS_H_
