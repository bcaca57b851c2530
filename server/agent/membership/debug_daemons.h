// Places debugger daemons beside the processes that they debug.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_DEBUG_DAEMONS_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_DEBUG_DAEMONS_H_

#include "common/job_debug.h"
#include "common/status.h"
#include "hostmodule/map_request.h"
#include "server/control/job_record.h"

namespace canopy::agent {

// Makes the only program of `request` the daemons of a job among `jobs`. Sets
// their number and their nodes, in the order of the job's, and removes slots,
// binding and stop directives. Errors, with a message of one line: kErrBadParam
// (several programs; both numbers given), kErrNotFound (no such job or rank),
// kErrNoPermissions (the job belongs to another user).
Status PlaceDaemons(const DebugDaemons& daemons,
                    const control::JobRecords& jobs, host::MapRequest* request);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_DEBUG_DAEMONS_H_
