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

// `to` contains NAME=VALUE entries in the order in which they are set. `to` and
// `environment`, which is the caller's own environment, must outlive the
// results.

// Takes NAME and VALUE; `prefix` is put before the name.
Option::Apply SetVariable(std::vector<std::string>* to, std::string prefix);
// Takes NAME=VALUE, or NAME for a variable with the caller's value. Adds a
// warning if the caller has no such variable.
Option::Apply ExportVariable(std::vector<std::string>* to,
                             const Environment* environment,
                             std::vector<std::string>* warnings);
// Takes srun's list of variables: ALL, and entries in the form of
// ExportVariable, separated by commas. NONE is refused, because a job always
// gets the caller's environment.
Option::Apply ExportVariables(std::vector<std::string>* to,
                              const Environment* environment,
                              std::vector<std::string>* warnings);
// Prepends the option's value, with the suffix of the path, to each search path
// of `paths_and_suffixes`. The previous value of a path comes from an earlier
// option or from the caller's environment.
Option::Apply PutBefore(
    std::vector<std::string>* to, const Environment* environment,
    std::vector<std::pair<std::string, std::string>> paths_and_suffixes);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_JOB_VARIABLES_H_
