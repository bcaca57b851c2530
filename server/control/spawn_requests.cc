#include "server/control/spawn_requests.h"

#include <algorithm>
#include <utility>

#include "server/core/step/control_inputs.h"

namespace canopy::control {
namespace {

// Returns the status that the spawner gets for a request for which no job was
// created.
int RefusalStatus(int code) {
  switch (code) {
    case kErrUnreach:  // the host is not reachable
      return kErrJobAllocFailed;
    case kErrSysLimitsFiles:
      return kErrJobSysOpFailed;
    default:
      return code;
  }
}

// Returns the status that the spawner gets for a job that did not start.
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
    // Both jobs of a request share one timer.
    if (const auto timer = std::exchange(pending->timer, 0); timer != 0) {
      loop_->CancelTimer(timer);
    }
  }
}

void SpawnRequests::Refuse(const core::HostSpawn& spawn, const Status& status) {
  sink_->OnInput(core::SpawnDone{spawn.proc, spawn.request,
                                 RefusalStatus(status.code()), ""});
}

void SpawnRequests::Begin(const core::HostSpawn& spawn,
                          std::vector<std::string> jobs, int64_t deadline) {
  const auto pending = std::make_shared<Pending>();
  pending->proc = spawn.proc;
  pending->request = spawn.request;
  pending->starting = {jobs.begin(), jobs.end()};
  pending->living = pending->starting;
  pending->jobs = std::move(jobs);
  Await(pending, deadline);
}

void SpawnRequests::Await(const std::shared_ptr<Pending>& pending,
                          int64_t deadline) {
  for (const std::string& nspace : pending->living) pending_[nspace] = pending;
  if (deadline == 0) return;
  const int64_t left = std::max<int64_t>(deadline - EventLoop::Now(), 0);
  pending->timer =
      loop_->AddTimer(left, [this, pending] { OnTimeout(pending); });
}

void SpawnRequests::OnTimeout(const std::shared_ptr<Pending>& pending) {
  pending->timer = 0;
  pending->failure = kErrTimeout;
  End(*pending, "it has not started in the time that its spawner gave it");
}

void SpawnRequests::End(const Pending& pending, const std::string& reason) {
  for (const std::string& nspace : pending.living) {
    sink_->OnInput(core::KillRequested{nspace, kErrJobCanceled, reason});
  }
}

void SpawnRequests::Recover(const RecoveredRequest& request) {
  const auto pending = std::make_shared<Pending>();
  pending->proc = request.proc;
  pending->request = request.request;
  for (const RecoveredRequest::Job& job : request.jobs) {
    pending->jobs.push_back(job.nspace);
    if (!job.over) pending->starting.insert(job.nspace);
  }
  pending->living = pending->starting;
  if (!request.complete) pending->failure = kErrJobFailedToLaunch;
  // This input precedes every answer: the core does not know the spawner's job
  // yet, and would drop an answer for which no request is recorded.
  sink_->OnInput(core::SpawnRecovered{request.proc, request.request});
  if (pending->living.empty()) return Answer(*pending);
  Await(pending, request.deadline);
  if (request.complete) return;
  loop_->Post([this, pending] {
    End(*pending, "the job that was to start with it has not");
  });
}

std::vector<std::string> SpawnRequests::OnJobChanged(
    const core::JobChanged& change, size_t num_procs) {
  const auto it = pending_.find(change.nspace);
  if (it == pending_.end()) return {};
  const std::shared_ptr<Pending> pending = it->second;
  if (change.procs_started == num_procs) {
    pending->starting.erase(change.nspace);
  }
  const bool started = !pending->failure && pending->starting.empty();
  if (!started) {
    if (change.phase == core::JobPhase::kEnded) OnEnded(change, pending.get());
    if (!pending->failure || !pending->living.empty()) return {};
  }
  Answer(*pending);
  return started ? pending->jobs : std::vector<std::string>();
}

void SpawnRequests::OnEnded(const core::JobChanged& change, Pending* pending) {
  pending->living.erase(change.nspace);
  pending_.erase(change.nspace);
  const bool started = !pending->starting.contains(change.nspace);
  if (pending->failure || (started && change.status == kSuccess)) return;
  pending->failure = LaunchStatus(change.status);
  End(*pending, "job " + change.nspace + ", which was to start with it, has " +
                    (started ? "failed" : "not started"));
}

void SpawnRequests::Answer(const Pending& pending) {
  if (pending.timer != 0) loop_->CancelTimer(pending.timer);
  for (const std::string& nspace : pending.living) pending_.erase(nspace);
  core::SpawnDone done{pending.proc, pending.request, kSuccess, ""};
  if (pending.failure) {
    done.status = *pending.failure;
  } else {
    done.nspace = pending.jobs.front();
  }
  sink_->OnInput(std::move(done));
}

}  // namespace canopy::control
