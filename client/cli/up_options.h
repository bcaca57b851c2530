// What `canopy up` was asked for.
#ifndef CANOPY_CLIENT_CLI_UP_OPTIONS_H_
#define CANOPY_CLIENT_CLI_UP_OPTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/cli/hosts.h"
#include "client/cli/option_parser.h"
#include "common/status.h"

namespace canopy::cli {

struct UpOptions {
  uint32_t nodes = 0;  // emulated; 0: not asked for
  std::vector<Host> hosts;
  std::string launch_agent;
  uint32_t radix = 0;
  std::string security;  // "tls", "files", "plaintext"; empty: as it fits
  std::string key_file;
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  std::string listen;
  std::string pmix_listen;
  std::string log_level;
  uint32_t timeout_seconds = 60;
  uint32_t loss_timeout_ms = 0;
  bool reflection = false;
  uint32_t orphan_grace_ms = 0;
  uint32_t restart_grace_ms = 0;
  bool replace = false;
  bool verbose = false;
  bool quiet = false;
};

std::span<const OptionSpec> UpOptionTable();
// Reads the hostfile that an option names.
Status ApplyUpOption(const ParsedOption& option, UpOptions* options);
// What can be said only when all options are known.
Status CheckUpOptions(const UpOptions& options);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_UP_OPTIONS_H_
