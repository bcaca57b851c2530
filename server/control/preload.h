// Which files of a job are to be copied to its nodes before its launch.
#ifndef CANOPY_SERVER_CONTROL_PRELOAD_H_
#define CANOPY_SERVER_CONTROL_PRELOAD_H_

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/staging.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {

struct Preload {
  bool wanted = false;
  FileSource source;
  std::vector<uint32_t> programs;  // applications whose program is copied
};

// Of a job that the launcher has the files of.
Preload PreloadOf(const v1::Launch& launch);
// Of a job that the process `spawner` of `parent` spawns: its files are on that
// process's node. kErrBadParam: two of them have one name, or one is outside of
// the directory.
Result<Preload> PreloadOf(const spawn::SpawnCall& call, const JobSpec& job,
                          const JobSpec& parent, Rank spawner);

// The job, whose processes execute the copies.
JobSpec WithCopies(JobSpec job, const Preload& preload);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_PRELOAD_H_
