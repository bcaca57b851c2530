// The environment that a job inherits from the shell that starts it.
#ifndef CANOPY_CLIENT_CLI_RUN_JOB_ENVIRONMENT_H_
#define CANOPY_CLIENT_CLI_RUN_JOB_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace canopy::cli {

// Returns the NAME=VALUE entries of `environ` without the variables of a job to
// which this process may belong (PMIX_*, PMI_*, CANOPY_*). Parameters of PMIx
// (PMIX_MCA_*) and variables that users set for Canopy are kept. Entries
// without '=' are omitted.
std::vector<std::string> InheritedEnvironment(const char* const* environ);

// Adds the entries to the environment; each replaces an entry of the same name.
void SetVariables(const std::vector<std::string>& entries,
                  std::vector<std::string>* environment);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_JOB_ENVIRONMENT_H_
