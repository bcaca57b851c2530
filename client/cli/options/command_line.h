// Parses the options that the smaller commands share.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_COMMAND_LINE_H_
#define CANOPY_CLIENT_CLI_OPTIONS_COMMAND_LINE_H_

#include <cstdint>
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
  std::vector<std::string> words;  // arguments that are not options
  std::string color;               // "auto", "always" or "never"
};

// The jobs that the argument JOB of a command may name.
enum class JobWord : uint8_t {
  kNone,     // the command has no such argument
  kRunning,  // jobs that agents know
  kKnown,    // these, and jobs of the history
};

// Describes a command for parsing and help.
struct CommandInfo {
  std::string_view name;
  std::string_view usage;  // after "usage: canopy NAME "
  std::string_view about;  // lines; ends with a line feed
  OptionTable options;     // the command's own options
  size_t min_words = 0;
  size_t max_words = 0;
  bool prints_json = true;            // if false, -o json is refused
  JobWord job_word = JobWord::kNone;  // explained at the end of `about`
};

// The result of ParseCommandLine, which applies --context, -o, --color, --help
// and the command's own options, and the settings of canopy.toml for the first
// three. If `go_on` is false, help or an error was printed and the command ends
// with `exit_code`.
struct ParseOutcome {
  bool go_on = false;
  int exit_code = 0;
};
ParseOutcome ParseCommandLine(const CommandInfo& info, const CommandLine& line,
                              SharedOptions* shared);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_COMMAND_LINE_H_
