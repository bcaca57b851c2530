// Applies the policies of a job to its processes, before they execute their
// programs.
#ifndef CANOPY_SERVER_SHIM_PROCESS_POLICIES_H_
#define CANOPY_SERVER_SHIM_PROCESS_POLICIES_H_

#include <string>

#include "common/job_request.h"

namespace canopy::process {

// Applies the policies that have a value to the calling process. Resource
// limits are lowered to the hard limits of the process. Returns false and sets
// errno if the user lacks the permission. Called in a child before its exec,
// with the credentials that the program gets; the child may share the memory of
// its parent.
bool ApplyPolicies(const ProcessPolicies& policies);

// Returns one line with the reason why ApplyPolicies has failed with this
// errno.
std::string PolicyFailure(const ProcessPolicies& policies, int error);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PROCESS_POLICIES_H_
