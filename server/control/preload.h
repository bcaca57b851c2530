// The files of a job that are copied to its nodes before its launch.
#ifndef CANOPY_SERVER_CONTROL_PRELOAD_H_
#define CANOPY_SERVER_CONTROL_PRELOAD_H_

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/job_request.h"
#include "common/status.h"
#include "server/control/staging.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {

struct Preload {
  bool wanted = false;
  FileSource source;
  std::vector<uint32_t> programs;  // applications with copied programs
};

// Returns the files of a job whose launcher has them.
Preload PreloadOf(const JobRequest& request);
// Returns the files of a job that the process `spawner` of `parent` spawns;
// they are on that process's node. kErrBadParam: two files have the same name,
// or a relative name contains ".."; kErrNotSupported: the spawner is a tool,
// which has no node; kErrOutOfResource: more than preload::kMaxItems files.
Result<Preload> PreloadOf(const spawn::SpawnCall& call, const JobSpec& job,
                          const JobSpec& parent, Rank spawner);

// Returns the job with the paths of the copies as the paths of its programs.
JobSpec WithCopies(JobSpec job, const Preload& preload);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_PRELOAD_H_
