// Places debugger daemons beside the processes that they debug.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_DEBUG_DAEMONS_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_DEBUG_DAEMONS_H_

#include <cstdint>

#include "common/job_request.h"
#include "common/status.h"
#include "server/control/job_record.h"

namespace canopy::agent {

// Places the debugger daemons of a request of user `uid`, if the request has
// any. The only program of `request` becomes the daemons of a job among `jobs`:
// the function sets their number and their nodes, in the order of the job's
// nodes, and removes slots, binding and stop directives. Errors, with a message
// of one line: kErrBadParam (several programs, or both numbers given),
// kErrNotFound (no such job or rank), kErrNoPermissions (the job belongs to
// another user, and `uid` is not root).
Status PlaceDaemons(const control::JobRecords& jobs, uint32_t uid,
                    JobRequest* request);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_DEBUG_DAEMONS_H_
