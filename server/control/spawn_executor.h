// Jobs that are spawned by processes of others.
#ifndef CANOPY_SERVER_CONTROL_SPAWN_EXECUTOR_H_
#define CANOPY_SERVER_CONTROL_SPAWN_EXECUTOR_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "server/control/families.h"
#include "server/control/job_record.h"
#include "server/control/job_starter.h"
#include "server/control/placements.h"
#include "server/control/preload.h"
#include "server/control/spawn_requests.h"
#include "server/core/step/control_actions.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {

// Makes one job or two of a request to spawn and launches them in the spawner's
// family, or of a tool in one of their own, which has no launcher;
// SpawnRequests answers. Loop thread only; what it is given outlives
// it.
class SpawnExecutor {
 public:
  using Planner =
      std::function<PlannedJob(const spawn::SpawnCall& call,
                               const ProcId& spawner, const Placed& placed)>;

  SpawnExecutor(Families* families, Placements* placements,
                SpawnRequests* requests, JobStarter* starter, Planner planner)
      : families_(families),
        placements_(placements),
        requests_(requests),
        starter_(starter),
        planner_(std::move(planner)) {}

  // While the launcher of the family is still to come back, the request waits
  // for it; and then until the host has said where and when it is executed.
  void OnSpawn(const core::HostSpawn& spawn);
  // The launcher has come back, or will not.
  void Release(Family* family);
  // The spawner has been told that the job runs.
  void OnStarted(const std::string& nspace);

 private:
  // One of a request, before it is launched.
  struct SpawnedJob {
    std::string nspace;
    Preload preload;
  };

  JobRecord SpawnerOf(const core::HostSpawn& spawn) const;
  Status MaySpawn(const core::HostSpawn& spawn) const;
  Result<spawn::SpawnCall> Parse(const core::HostSpawn& spawn) const;
  QueuedJob Queued(const core::HostSpawn& spawn,
                   const spawn::SpawnCall& call) const;
  void OnPlaced(const core::HostSpawn& spawn, const PlacementRequest& request,
                const Result<Placed>& placed);
  void Refuse(const core::HostSpawn& spawn, const Status& why);
  Status Spawn(const core::HostSpawn& spawn, const Placed& placed);
  Status Add(const core::HostSpawn& spawn, const spawn::SpawnCall& call,
             const Placed& placed, std::vector<SpawnedJob>* jobs);
  void Forget(const std::string& nspace);
  void Launch(const SpawnedJob& job, const spawn::SpawnCall& call);
  void TellLauncher(const JobSpec& job, const spawn::SpawnCall& call);

  Families* const families_;
  Placements* const placements_;
  SpawnRequests* const requests_;
  JobStarter* const starter_;
  const Planner planner_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_SPAWN_EXECUTOR_H_
