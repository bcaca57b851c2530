// Executes requests of processes to spawn jobs (PMIx_Spawn; PMIx Standard,
// chapter "Process Management").
//
// A request passes through these stages:
// 1. OnSpawn. If the launcher of the spawner's family is still awaited, the
//    request is held in the family until Release.
// 2. The call is parsed, and checked against the state of the spawner's family.
//    If the call adds hosts to the overlay, HostAdditions adds them.
//    LaunchPipeline requests a placement from the host. A tool takes no slots
//    and skips this decision.
// 3. Spawn. The grant may come much later, so the spawner is checked again.
//    Each job of the request, one or two, is mapped and recorded (Add).
// 4. SpawnRequests::Begin becomes responsible for the answer, and the jobs are
//    started.
// 5. OnStarted, for each job, after the spawner was notified that they run.
//
// A failure up to stage 3 removes the recorded jobs, releases the grant and
// rejects the request. Later failures are failures of the jobs, and
// SpawnRequests handles them.
//
// Invariants: each request is answered exactly once; the two jobs of a request
// are in the same family; a job of a tool begins a new family, which has no
// launcher.
#ifndef CANOPY_SERVER_CONTROL_SPAWN_EXECUTOR_H_
#define CANOPY_SERVER_CONTROL_SPAWN_EXECUTOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "server/control/families.h"
#include "server/control/host_additions.h"
#include "server/control/job_record.h"
#include "server/control/launch_pipeline.h"
#include "server/control/placements.h"
#include "server/control/spawn_requests.h"
#include "server/core/step/control_actions.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {

// Makes one or two jobs from a request and launches them in the spawner's
// family; the jobs of a tool get a new family, without a launcher.
// SpawnRequests sends the answer. Loop thread only. The arguments of the
// constructor outlive this object.
class SpawnExecutor {
 public:
  SpawnExecutor(Families* families, Placements* placements,
                SpawnRequests* requests, LaunchPipeline* pipeline,
                const JobPlanner* planner, HostAdditions* additions)
      : families_(families),
        placements_(placements),
        requests_(requests),
        pipeline_(pipeline),
        planner_(planner),
        additions_(additions) {}

  // Handles a request. It waits while the launcher of the family is still
  // awaited, and then until the host has decided where and when it is executed.
  void OnSpawn(const core::HostSpawn& spawn);
  // Executes the held requests. Called when the launcher has reattached, or
  // will not reattach.
  void Release(Family* family);
  // Called when the spawner has been notified that the job runs.
  void OnStarted(const std::string& nspace);

 private:
  // The number of keys that are logged is limited, because programs choose
  // them.
  static constexpr size_t kMaxLogged = 64;

  // A request with its parsed call.
  struct Request {
    core::HostSpawn spawn;
    spawn::SpawnCall call;
    int64_t give_up = 0;  // EventLoop::Now(); 0: no limit
  };

  JobRecord SpawnerOf(const core::HostSpawn& spawn) const;
  Status MaySpawn(const core::HostSpawn& spawn) const;
  Result<spawn::SpawnCall> Parse(const core::HostSpawn& spawn) const;
  Status MayExecute(const Request& request) const;
  Status NameHosts(const std::string& spawner, spawn::SpawnCall* call) const;
  // Adds the hosts of the call that are no members, and then places the job.
  void AddHosts(const std::shared_ptr<const Request>& request);
  Result<std::vector<Host>> MissingHosts(const Request& request) const;
  void Place(const std::shared_ptr<const Request>& request);
  QueuedJob Queued(const Request& request) const;
  void Refuse(const core::HostSpawn& spawn, const Status& why);
  Status Spawn(const Request& request, const Placed& placed);
  Status AddAll(const Request& request, const Placed& placed,
                std::vector<std::string>* jobs);
  Status Add(const core::HostSpawn& spawn, const spawn::SpawnCall& call,
             const Placed& placed, std::vector<std::string>* jobs);
  void Start(const std::string& nspace, const spawn::SpawnCall& call);
  void TellLauncher(const JobRecord& record, const spawn::SpawnCall& call);
  void LogIgnored(const ProcId& spawner, const std::vector<std::string>& keys);

  Families* const families_;
  Placements* const placements_;
  SpawnRequests* const requests_;
  LaunchPipeline* const pipeline_;
  const JobPlanner* const planner_;
  HostAdditions* const additions_;
  std::set<std::string> logged_;  // logged keys of directives without effect
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_SPAWN_EXECUTOR_H_
