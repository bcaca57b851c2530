// Options that set variables in the environment of processes.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_JOB_VARIABLES_H_
#define CANOPY_CLIENT_CLI_OPTIONS_JOB_VARIABLES_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/options/option_parser.h"

namespace canopy::cli {

// Value of an environment variable; null when it is not set.
using Environment = std::function<const char*(const char* name)>;

// `to` holds NAME=VALUE, in the order in which they are set. It and
// `environment`, the caller's own, outlive the results.

// From NAME and VALUE: the name gets `prefix`.
Option::Apply SetVariable(std::vector<std::string>* to, std::string prefix);
// From NAME=VALUE, or NAME with the caller's value; one that is not set is a
// warning.
Option::Apply ExportVariable(std::vector<std::string>* to,
                             const Environment* environment,
                             std::vector<std::string>* warnings);
// Puts the value and a suffix in front of each of these search paths, as set
// before or by the caller.
Option::Apply PutBefore(
    std::vector<std::string>* to, const Environment* environment,
    std::vector<std::pair<std::string, std::string>> paths_and_suffixes);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_JOB_VARIABLES_H_
