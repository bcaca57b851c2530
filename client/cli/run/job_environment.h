// The environment that a job inherits from the shell that starts it.
#ifndef CANOPY_CLIENT_CLI_RUN_JOB_ENVIRONMENT_H_
#define CANOPY_CLIENT_CLI_RUN_JOB_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace canopy::cli {

// NAME=VALUE of `environ` without what belongs to a job that we may be running
// in (PMIX_*, PMI_*, CANOPY_*); parameters of PMIx (PMIX_MCA_*) and what the
// user sets for Canopy itself stay. Entries without '=' are left out.
std::vector<std::string> InheritedEnvironment(const char* const* environ);

// Adds entries; one of the same name is replaced.
void SetVariables(const std::vector<std::string>& entries,
                  std::vector<std::string>* environment);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_JOB_ENVIRONMENT_H_
