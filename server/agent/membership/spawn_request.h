// Turns a spawn request into a request for the mapper, including what the new
// job inherits from the job of its spawner.
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

// Returns the content of a hostfile, or the reason in one line why it cannot be
// read.
using HostfileReader =
    std::function<Result<std::string>(const std::string& path)>;

// Environment, session, directory and privileges are the parent's. The caller
// fills in `nspace` and `local_agent`. In addition to the reader's errors,
// returns kErrBadParam (malformed hostfile) and kErrOutOfResource (environments
// that are too large).
Result<host::MapRequest> SpawnMapRequest(const spawn::SpawnCall& call,
                                         const ProcId& spawner,
                                         const control::JobRecord& parent,
                                         const HostfileReader& read);

// Reads a regular file of at most 1 MiB with the permissions of this user,
// without supplementary groups. Opens no other kinds of files, and thus never
// blocks.
Result<std::string> ReadHostfile(const std::string& path, uid_t uid, gid_t gid);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_SPAWN_REQUEST_H_
