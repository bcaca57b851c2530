// Command lines taken apart by a table: the single-dash long options and the
// options with two values that mpirun's users type rule out the usual parsers.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_OPTION_PARSER_H_
#define CANOPY_CLIENT_CLI_OPTIONS_OPTION_PARSER_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace canopy::cli {

// As it was typed.
struct TypedOption {
  std::string name;  // with its dashes, for messages
  std::vector<std::string> values;
};

// One option. Names are without dashes, separated by blanks, the one to show
// first. Each may be typed with one dash or two; "--name=value" gives the first
// value.
struct Option {
  // Sets what the option is for. The status is one line for the user. Most are
  // made by the functions of option_setters.h.
  using Apply = std::function<Status(const TypedOption& typed)>;

  std::string_view names;
  int num_values = 0;
  std::string_view value_name;  // for the help text, e.g. "N"
  std::string_view help;        // empty: accepted, not shown
  Apply apply;
  bool last = false;  // no option after it matters (--help)
  // Of an option with two values: NAME=VALUE in one word is both of them.
  bool joins_values = false;
};
using OptionTable = std::vector<Option>;

enum class RestRule {
  kFromFirstWord,  // all from the first word on is the rest (a program)
  kBetween,        // words between options are collected
};

// Takes a command line apart and applies its options in their order; returns
// the rest. "--" ends the options. The status is one line: an unknown option,
// with what may be meant, a missing value (both kErrBadParam, and nothing is
// applied), or that of an option.
Result<std::vector<std::string>> ApplyOptions(std::span<const Option> table,
                                              std::span<const std::string> args,
                                              RestRule rule);

// One line or more for each option that has a help text.
std::string OptionHelp(std::span<const Option> table);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_OPTION_PARSER_H_
