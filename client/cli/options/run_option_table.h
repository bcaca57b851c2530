// All option spellings that `canopy run` accepts.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTION_TABLE_H_
#define CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTION_TABLE_H_

#include <string>

#include "client/cli/options/option_parser.h"
#include "client/cli/options/run_options.h"

namespace canopy::cli {

// Destinations of the option values. They must outlive the table.
struct RunTargets {
  RunOptions* run = nullptr;
  JobApp* app = nullptr;            // the program being described
  std::string* app_file = nullptr;  // a file that describes the programs
  // Text that is appended to the mapping policy after all options are applied.
  std::string* map_suffix = nullptr;
  const Environment* environment = nullptr;
  // True if the command is called as mpirun: -c is the number of processes, not
  // the CPUs of each process.
  bool as_mpirun = false;
  std::string* rankfile = nullptr;  // path
};

// Returns the options in the order of the help text.
OptionTable RunOptionTable(const RunTargets& to);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_RUN_OPTION_TABLE_H_
