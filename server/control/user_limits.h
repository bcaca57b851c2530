// The limits for the jobs of one user on an overlay. Without them, a program
// that spawns itself, or a shell loop of `canopy run`, would fill the processes
// of all nodes: its jobs are small, and only their number is harmful.
#ifndef CANOPY_SERVER_CONTROL_USER_LIMITS_H_
#define CANOPY_SERVER_CONTROL_USER_LIMITS_H_

#include <cstdint>
#include <map>

#include "common/status.h"
#include "server/control/job_record.h"
#include "server/control/placements.h"

namespace canopy::control {

// The number of jobs that a user has or requests, and the processes of these
// jobs. Queued jobs count like those that run.
struct UserLoad {
  uint64_t jobs = 0;
  uint64_t procs = 0;
};

// Returns the load of each user who has recorded or queued jobs.
std::map<uint32_t, UserLoad> LoadOfUsers(const JobRecords& jobs,
                                         const Placements& queued);
// Returns the load of one user.
UserLoad LoadOf(uint32_t uid, const JobRecords& jobs, const Placements& queued);

// Returns kErrOutOfResource if the user, whose jobs have `load`, would exceed
// the limits with `more`. The text has the limit, its setting and the load.
Status CheckUserLimits(uint32_t uid, const UserLoad& load, const UserLoad& more,
                       const UserLimits& limits);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_USER_LIMITS_H_
