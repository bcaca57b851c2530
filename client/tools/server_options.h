// The options, common to the reference tools, that select the server.
#ifndef CANOPY_CLIENT_TOOLS_SERVER_OPTIONS_H_
#define CANOPY_CLIENT_TOOLS_SERVER_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "client/cli/options/option_parser.h"

namespace canopy::tools {

struct ServerOptions {
  std::string uri;     // an address, or "file:PATH"
  std::string nspace;  // namespace of the server
  uint32_t pid = 0;    // PID of the server; 0: not given
  std::string directory;
  bool system_first = false;
  bool only_system = false;
  bool no_server = false;
  uint32_t retries = 0;
  uint32_t delay_s = 0;  // 0: not given
  bool verbose = false;
  bool help = false;
  bool version = false;
};

// Returns the options, which set the members of `to`; `to` must outlive the
// result.
cli::OptionTable ServerOptionTable(ServerOptions* to);

// Returns an option of the reference tool that cannot be honoured: it is
// rejected with `why` and is not in the help text.
cli::Option Refused(std::string_view names, int num_values, std::string why);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_SERVER_OPTIONS_H_
