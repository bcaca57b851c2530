// Applies the policies of a job to its processes, before they execute their
// programs.
#ifndef CANOPY_SERVER_SHIM_PROCESS_POLICIES_H_
#define CANOPY_SERVER_SHIM_PROCESS_POLICIES_H_

#include <string>

#include "common/job_request.h"

namespace canopy::process {

// Gives the calling process the policies that have a value. Resource limits are
// lowered to the hard limits that the process has. Returns false and sets errno
// if the user may not have them. Call it in a child before its exec, with the
// credentials that the program gets; the child may share the memory of its
// parent.
bool ApplyPolicies(const ProcessPolicies& policies);

// Returns why ApplyPolicies has failed with this errno, in one line.
std::string PolicyFailure(const ProcessPolicies& policies, int error);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_PROCESS_POLICIES_H_
