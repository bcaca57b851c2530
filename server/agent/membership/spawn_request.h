// Completes the request of a call of PMIx_Spawn with the properties that the
// new job inherits from its spawner's job.
#ifndef CANOPY_SERVER_AGENT_MEMBERSHIP_SPAWN_REQUEST_H_
#define CANOPY_SERVER_AGENT_MEMBERSHIP_SPAWN_REQUEST_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "common/hosts.h"
#include "common/job_request.h"
#include "common/status.h"
#include "server/control/job_record.h"
#include "server/spawn/spawn_call.h"

namespace canopy::agent {

// Returns the content of a hostfile, or an error with the reason in one line.
using HostfileReader =
    std::function<Result<std::string>(const std::string& path)>;

// Returns the request of the call. Its environment, directory, privileges and
// usable nodes follow from the spawner's job. In addition to the reader's
// errors, returns kErrBadParam (malformed hostfile) and kErrOutOfResource
// (environments that are too large).
Result<JobRequest> SpawnRequestOf(const spawn::SpawnCall& call,
                                  const control::JobRecord& parent,
                                  const HostfileReader& read);

// Returns the hosts that PMIX_ADD_HOST, PMIX_ADD_HOSTFILE and the other
// attributes of the same application name, and those of the call's second job.
// Fails like SpawnRequestOf.
Result<std::vector<Host>> AddedHosts(const spawn::SpawnCall& call,
                                     const control::JobRecord& parent,
                                     const HostfileReader& read);

// Reads a regular file of at most 1 MiB with the permissions of this user,
// without supplementary groups. Does not open other kinds of files, so it never
// blocks. Returns kErrJobFailedToMap, with the path and the reason, if the file
// cannot be read.
Result<std::string> ReadHostfile(const std::string& path, uid_t uid, gid_t gid);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_MEMBERSHIP_SPAWN_REQUEST_H_
