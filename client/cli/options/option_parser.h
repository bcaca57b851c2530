// Parses command lines by a table of options. The usual parsers cannot be used,
// because mpirun has long options with a single dash and options with two
// values.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_OPTION_PARSER_H_
#define CANOPY_CLIENT_CLI_OPTIONS_OPTION_PARSER_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy::cli {

// An option as the user typed it.
struct TypedOption {
  std::string name;  // with its dashes, for messages
  std::vector<std::string> values;
};

// One option. Its names have no dashes and are separated by blanks; the first
// name appears in help texts. Each name may be typed with one dash or two;
// "--name=value" gives the first value.
struct Option {
  // Stores the option's values. The error is one line for the user. Most of
  // these functions come from option_setters.h.
  using Apply = std::function<Status(const TypedOption& typed)>;

  std::string_view names;
  int num_values = 0;
  std::string_view value_name;  // for the help text, e.g. "N"
  std::string_view help;        // empty: accepted, but not shown
  Apply apply;
  bool last = false;  // later options are parsed, but not applied (--help)
  // True for an option with two values that also accepts both in one word,
  // NAME=VALUE.
  bool joins_values = false;
};
using OptionTable = std::vector<Option>;

enum class RestRule {
  kFromFirstWord,  // the rest starts at the first word (a program)
  kBetween,        // words between options are collected
};

// Parses a command line, applies its options in their order and returns the
// rest. "--" ends the options. The error is one line. Returns kErrBadParam for
// an unknown option, for which the message has suggestions, and for a missing
// value; no option is then applied. Otherwise returns the first error of an
// option's Apply.
Result<std::vector<std::string>> ApplyOptions(std::span<const Option> table,
                                              std::span<const std::string> args,
                                              RestRule rule);

// Returns one or more lines for each option that has a help text.
std::string OptionHelp(std::span<const Option> table);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_OPTION_PARSER_H_
