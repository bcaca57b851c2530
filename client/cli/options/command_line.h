// Parsing that the smaller commands share.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_COMMAND_LINE_H_
#define CANOPY_CLIENT_CLI_OPTIONS_COMMAND_LINE_H_

#include <string>
#include <string_view>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/options/option_parser.h"

namespace canopy::cli {

struct SharedOptions {
  std::string context;
  bool json = false;
  bool help = false;
  std::vector<std::string> words;  // what is no option
};

// What a command is, for parsing and help.
struct CommandInfo {
  std::string_view name;
  std::string_view usage;  // after "usage: canopy NAME "
  std::string_view about;  // lines; ends with a line feed
  OptionTable options;     // its own
  size_t min_words = 0;
  size_t max_words = 0;
};

// Applies --context, -o, --help and the command's own options. No value: the
// command is done with that exit code (help was printed, or an error).
struct ParseOutcome {
  bool go_on = false;
  int exit_code = 0;
};
ParseOutcome ParseCommandLine(const CommandInfo& info, const CommandLine& line,
                              SharedOptions* shared);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_COMMAND_LINE_H_
