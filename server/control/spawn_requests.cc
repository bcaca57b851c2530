#include "server/control/spawn_requests.h"

#include <utility>

#include "server/core/events.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/control_inputs.h"
#include "server/spawn/job_events.h"

namespace canopy::control {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// The status for the spawner of a request that no job was made of.
int RefusalStatus(int code) {
  switch (code) {
    case kErrNotFound:  // a host that is no member
    case kErrUnreach:   // one that is down
      return kErrJobAllocFailed;
    default:
      return code;
  }
}

// The status for the spawner of a job that did not come to run.
int LaunchStatus(int code) {
  switch (code) {
    case kErrExeNotAccessible:
      return kErrJobAppNotExecutable;
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

void SpawnRequests::Begin(const core::HostSpawn& spawn,
                          const std::string& nspace,
                          const spawn::SpawnCall& call) {
  Pending& pending = pending_[nspace];
  pending.proc = spawn.proc;
  pending.request = spawn.request;
  pending.tells_start = call.notify_job_events;
  pending.tells_end = call.notify_job_events || call.notify_completion;
  pending.tells_good_end = pending.tells_end && !call.silent_end;
  if (call.spawn_timeout_seconds == 0) return;
  pending.timer = loop_->AddTimer(call.spawn_timeout_seconds * kSecond,
                                  [this, nspace] { OnTimeout(nspace); });
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
                            const std::string& nspace, bool ended) {
  if (ended) {
    return sink_->OnInput(core::SpawnDone{proc, request, kSuccess, nspace});
  }
  Pending& pending = pending_[nspace];
  pending.proc = proc;
  pending.request = request;
  sink_->OnInput(core::SpawnRecovered{proc, request});
}

bool SpawnRequests::OnJobChanged(const core::JobChanged& change,
                                 size_t num_procs) {
  const auto it = pending_.find(change.nspace);
  if (it == pending_.end()) return false;
  Pending& pending = it->second;
  const bool started = change.procs_started == num_procs;
  const bool ended = change.phase == core::JobPhase::kEnded;
  if (!started && !ended) return false;
  const bool first = !std::exchange(pending.answered, true);
  if (first) Answer(&pending, change, started);
  if (ended && started) TellEnd(pending, change);
  if (ended || !pending.tells_end) pending_.erase(it);
  return first && started;
}

void SpawnRequests::Answer(Pending* pending, const core::JobChanged& change,
                           bool started) {
  if (pending->timer != 0) loop_->CancelTimer(std::exchange(pending->timer, 0));
  core::SpawnDone done{pending->proc, pending->request, kSuccess,
                       change.nspace};
  if (!started) {
    done.nspace.clear();
    done.status =
        pending->out_of_time ? kErrTimeout : LaunchStatus(change.status);
  }
  sink_->OnInput(std::move(done));
  if (!started || !pending->tells_start) return;
  for (const int event : {spawn::kEventJobStart, spawn::kEventLaunchComplete}) {
    Tell(*pending, event, change.nspace, spawn::JobEventInfo(change.nspace));
  }
}

void SpawnRequests::TellEnd(const Pending& pending,
                            const core::JobChanged& change) {
  const bool well = change.status == kSuccess;
  if (!pending.tells_end || (well && !pending.tells_good_end)) return;
  Tell(pending, spawn::kEventJobEnd, change.nspace,
       spawn::JobEndInfo(change.nspace, {change.status, change.first_failed,
                                         change.exit_code}));
}

void SpawnRequests::Tell(const Pending& pending, int event,
                         const std::string& nspace, Bytes info) {
  core::EventRaised raised;
  raised.status = event;
  raised.source = {nspace, kRankWildcard};
  raised.range = static_cast<uint8_t>(core::EventRange::kCustom);
  raised.targets = {pending.proc};
  raised.info = std::move(info);
  sink_->OnInput(std::move(raised));
}

}  // namespace canopy::control
