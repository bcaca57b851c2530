#include "server/control/spawn_requests.h"

#include <algorithm>
#include <utility>

#include "server/core/step/control_inputs.h"

namespace canopy::control {
namespace {

// The status for the spawner of a request that no job was made of.
int RefusalStatus(int code) {
  switch (code) {
    case kErrNotFound:  // a host that is no member
    case kErrUnreach:   // one that is down
      return kErrJobAllocFailed;
    case kErrSysLimitsFiles:
      return kErrJobSysOpFailed;
    default:
      return code;
  }
}

// The status for the spawner of a job that did not come to run.
int LaunchStatus(int code) {
  switch (code) {
    case kErrExeNotAccessible:
      return kErrJobAppNotExecutable;
    case kErrSysLimitsFiles:
    case kErrNomem:
      return kErrJobSysOpFailed;
    case kErrJobWdirNotAccessible:
    case kErrJobAppNotExecutable:
    case kErrJobExeNotFound:
    case kErrJobWdirNotFound:
    case kErrJobInsufficientResources:
    case kErrJobSysOpFailed:
    case kErrJobCanceled:
    case kErrJobKilledByCmd:
    case kErrOutOfResource:
      return code;
    default:
      return kErrJobFailedToLaunch;
  }
}

}  // namespace

SpawnRequests::~SpawnRequests() {
  for (const auto& [nspace, pending] : pending_) {
    if (pending.timer != 0) loop_->CancelTimer(pending.timer);
  }
}

void SpawnRequests::Refuse(const core::HostSpawn& spawn, const Status& status) {
  sink_->OnInput(core::SpawnDone{spawn.proc, spawn.request,
                                 RefusalStatus(status.code()), ""});
}

void SpawnRequests::Await(const ProcId& proc, core::RequestId request,
                          const std::string& nspace, int64_t deadline) {
  Pending& pending = pending_[nspace];
  pending.proc = proc;
  pending.request = request;
  if (deadline == 0) return;
  const int64_t left = std::max<int64_t>(deadline - EventLoop::Now(), 0);
  pending.timer = loop_->AddTimer(left, [this, nspace] { OnTimeout(nspace); });
}

void SpawnRequests::Begin(const core::HostSpawn& spawn,
                          const std::string& nspace, int64_t deadline) {
  Await(spawn.proc, spawn.request, nspace, deadline);
}

void SpawnRequests::OnTimeout(const std::string& nspace) {
  Pending& pending = pending_.at(nspace);
  pending.timer = 0;
  pending.out_of_time = true;
  sink_->OnInput(core::KillRequested{nspace, kErrJobCanceled,
                                     "it has not started in the time that its "
                                     "spawner gave it"});
}

void SpawnRequests::Recover(const ProcId& proc, core::RequestId request,
                            const std::string& nspace, int64_t deadline,
                            bool ended) {
  if (ended) {
    return sink_->OnInput(core::SpawnDone{proc, request, kSuccess, nspace});
  }
  Await(proc, request, nspace, deadline);
  sink_->OnInput(core::SpawnRecovered{proc, request});
}

bool SpawnRequests::OnJobChanged(const core::JobChanged& change,
                                 size_t num_procs) {
  const bool started = change.procs_started == num_procs;
  if (!started && change.phase != core::JobPhase::kEnded) return false;
  const auto pending = pending_.extract(change.nspace);
  if (pending.empty()) return false;
  Answer(pending.mapped(), change, started);
  return started;
}

void SpawnRequests::Answer(const Pending& pending,
                           const core::JobChanged& change, bool started) {
  if (pending.timer != 0) loop_->CancelTimer(pending.timer);
  core::SpawnDone done{pending.proc, pending.request, kSuccess, change.nspace};
  if (!started) {
    done.nspace.clear();
    done.status =
        pending.out_of_time ? kErrTimeout : LaunchStatus(change.status);
  }
  sink_->OnInput(std::move(done));
}

}  // namespace canopy::control
