// What a spawn means for the mapper: the request of a new job, with what it
// takes over from the job of its spawner.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_SPAWN_REQUEST_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_SPAWN_REQUEST_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "hostmodule/map_request.h"
#include "server/control/job_record.h"
#include "server/spawn/spawn_call.h"

namespace canopy::agent {

// The content of a hostfile, or in one line why there is none.
using HostfileReader =
    std::function<Result<std::string>(const std::string& path)>;

// Environment, session, directory and privileges are the parent's; `nspace` and
// `local_agent` are left to the caller. Errors beside the reader's:
// kErrBadParam (a hostfile that is none), kErrOutOfResource (environments that
// are too large).
Result<host::MapRequest> SpawnMapRequest(const spawn::SpawnCall& call,
                                         const ProcId& spawner,
                                         const control::JobRecord& parent,
                                         const HostfileReader& read);

// Reads a regular file of at most 1 MiB, with the permissions of this user,
// whose supplementary groups do not count. Opens nothing else, and so waits for
// nothing.
Result<std::string> ReadHostfile(const std::string& path, uid_t uid, gid_t gid);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_SPAWN_REQUEST_H_
