// Every spelling that `canopy run` understands.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTION_TABLE_H_
#define CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTION_TABLE_H_

#include <string>

#include "client/cli/options/option_parser.h"
#include "client/cli/options/run_options.h"

namespace canopy::cli {

// What the options set. All of it outlives the table.
struct RunTargets {
  RunOptions* run = nullptr;
  AppOptions* app = nullptr;          // the program that is described now
  std::string* app_file = nullptr;    // that describes programs in its place
  std::string* map_suffix = nullptr;  // for run->map_by in the end
  const Environment* environment = nullptr;
};

// In the order of the help text.
OptionTable RunOptionTable(const RunTargets& to);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTION_TABLE_H_
