// Command lines taken apart by a table: the single-dash long options and the
// options with two values that mpirun's users type rule out the usual parsers.
#ifndef CANOPY_CLIENT_CLI_OPTION_PARSER_H_
#define CANOPY_CLIENT_CLI_OPTION_PARSER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy::cli {

// One option. Names are without dashes, separated by blanks, the one to show
// first. Each may be typed with one dash or two; "--name=value" gives the first
// value.
struct OptionSpec {
  int id = 0;
  std::string_view names;
  int num_values = 0;
  std::string_view value_name;  // for the help text, e.g. "N"
  std::string_view help;        // empty: accepted, not shown
};

struct ParsedOption {
  int id = 0;
  std::string typed;  // with its dashes, for messages
  std::vector<std::string> values;
};

struct ParsedLine {
  std::vector<ParsedOption> options;
  std::vector<std::string> rest;
};

enum class RestRule {
  kFromFirstWord,  // all from the first word on is the rest (a program)
  kBetween,        // words between options are collected
};

// "--" ends the options. The status (kErrBadParam) is one line: an unknown
// option, with what may be meant, or a missing value.
Result<ParsedLine> ParseLine(std::span<const OptionSpec> specs,
                             std::span<const std::string> args, RestRule rule);

// One line or more for each option that has a help text.
std::string OptionHelp(std::span<const OptionSpec> specs);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTION_PARSER_H_
