// Options that set environment variables of the processes.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_JOB_VARIABLES_H_
#define CANOPY_CLIENT_CLI_OPTIONS_JOB_VARIABLES_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/options/option_parser.h"

namespace canopy::cli {

// Returns the value of an environment variable, or null if it is not set.
using Environment = std::function<const char*(const char* name)>;

// `to` holds NAME=VALUE entries in the order in which they are set. `to` and
// `environment`, which is the caller's own, must outlive the results.

// Takes NAME and VALUE; `prefix` is put before the name.
Option::Apply SetVariable(std::vector<std::string>* to, std::string prefix);
// Takes NAME=VALUE, or NAME with the caller's value. A variable that is not set
// gives a warning.
Option::Apply ExportVariable(std::vector<std::string>* to,
                             const Environment* environment,
                             std::vector<std::string>* warnings);
// Takes srun's list of variables: ALL and entries such as ExportVariable takes,
// separated by commas. A job always gets the caller's environment, so NONE is
// refused.
Option::Apply ExportVariables(std::vector<std::string>* to,
                              const Environment* environment,
                              std::vector<std::string>* warnings);
// Prepends the value and a suffix to each of these search paths, as set by an
// earlier option or by the caller's environment.
Option::Apply PutBefore(
    std::vector<std::string>* to, const Environment* environment,
    std::vector<std::pair<std::string, std::string>> paths_and_suffixes);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_JOB_VARIABLES_H_
