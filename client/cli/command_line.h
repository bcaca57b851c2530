// Parsing that the smaller commands share.
#ifndef CANOPY_CLIENT_CLI_COMMAND_LINE_H_
#define CANOPY_CLIENT_CLI_COMMAND_LINE_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/option_parser.h"
#include "common/status.h"

namespace canopy::cli {

// Option ids below this are a command's own.
inline constexpr int kFirstSharedOption = 1000;
enum SharedOptionId : int {
  kSharedContext = kFirstSharedOption,
  kSharedFormat,
  kSharedHelp,
};

struct SharedOptions {
  std::string context;
  bool json = false;
  std::vector<std::string> words;  // what is no option
};

// What a command is, for parsing and help.
struct CommandInfo {
  std::string_view name;
  std::string_view usage;               // after "usage: canopy NAME "
  std::string_view about;               // lines; ends with a line feed
  std::span<const OptionSpec> options;  // its own
  size_t min_words = 0;
  size_t max_words = 0;
};

// Parses --context, -o, --help and, through `apply`, the command's own
// options. No value: the command is done with that exit code (help was
// printed, or an error).
struct ParseOutcome {
  bool go_on = false;
  int exit_code = 0;
};
ParseOutcome ParseCommandLine(
    const CommandInfo& info, const CommandLine& line, SharedOptions* shared,
    const std::function<Status(const ParsedOption&)>& apply = nullptr);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMAND_LINE_H_
