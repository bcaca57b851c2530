// Jobs whose processes wait for a debugger, and debuggers. No process may
// continue before a debugger releases it, and all must continue afterwards.
#include "common/codec/encoder.h"
#include "common/status.h"
#include "pmix_common.h"
#include "server/core/event/event_info.h"
#include "tests/sim/tool_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr uint8_t kOfManager = PMIX_RANGE_RM;
constexpr uint8_t kCustom = PMIX_RANGE_CUSTOM;

Bytes ReadyInfo(bool in_init) {
  Encoder out;
  out.PutSize(2);
  PutFlag(PMIX_EVENT_NON_DEFAULT, &out);
  PutInfo(PMIX_BREAKPOINT, PMIX_STRING, &out);
  out.PutString(in_init ? "pmix-init" : "here");
  return Bytes(out.Take());
}

const StopRanks& RanksOf(const ToolTarget& job) {
  return job.spec.debug.in_init ? job.spec.debug.in_init
                                : job.spec.debug.in_app;
}

}  // namespace

bool ToolSoak::HaveAllStopped(const ToolTarget& job) {
  for (Rank rank = 0; rank < job.spec.procs.size(); ++rank) {
    if (Stops(RanksOf(job), rank) && !job.stopped.contains(rank)) return false;
  }
  return true;
}

// Makes the process report after a while that it has stopped, and wait.
void ToolSoak::Stop(const ProcId& proc) {
  ToolTarget& job = *Find(proc.nspace);
  if (!Stops(RanksOf(job), proc.rank)) {
    return cluster_.At(cluster_.now() + UpTo(20 * kMs), [this, proc] {
      if (cluster_.shims().IsRunning(proc)) cluster_.Leave(ProcId(proc));
    });
  }
  (void)cluster_.clients().WantEvents(proc, {PMIX_DEBUGGER_RELEASE});
  cluster_.At(cluster_.now() + UpTo(100 * kMs), [this, proc, &job] {
    if (!cluster_.shims().IsRunning(proc)) return;
    job.stopped.insert(proc.rank);
    (void)cluster_.clients().Raise(
        proc, PMIX_READY_FOR_DEBUG, kOfManager, {},
        ReadyInfo(job.spec.debug.in_init.has_value()));
  });
}

void ToolSoak::OnReleased(ToolTarget& job, Rank rank) {
  const ProcId proc{job.spec.nspace, rank};
  if (!job.is_released) {
    Error(ToString(proc) + " goes on and nobody has released it");
  }
  job.released.insert(rank);
  // The process may be released before it has reached its stop. It will not
  // wait there then, so it may leave at any time from now on.
  cluster_.At(cluster_.now() + UpTo(150 * kMs), [this, proc] {
    if (cluster_.shims().IsRunning(proc)) cluster_.Leave(ProcId(proc));
  });
}

// --------------------------------------------------------------- debuggers ---

void ToolSoak::AddDebugger(ToolTarget& job, TimeNs begins) {
  ++job.debuggers;
  AddTool(PlayedTool::Kind::kDebugger, job, begins).is_blind = OneIn(4);
}

void ToolSoak::OnReady(PlayedTool& tool, const ToolTarget& job) {
  const std::string who = ToString(tool.proc);
  if (!HaveAllStopped(job)) {
    Error(who + " is told that all have stopped, too early");
  }
  if (std::exchange(tool.told, true)) {
    Error(who + " is told again that all have stopped");
  }
  Later(tool.proc, UpTo(300 * kMs),
        [this](PlayedTool& there) { Release(there); });
}

void ToolSoak::Release(PlayedTool& tool) {
  if (tool.release != 0) return;
  tool.target->is_released = true;
  tool.release =
      cluster_.clients().Raise(tool.proc, PMIX_DEBUGGER_RELEASE, kCustom,
                               {{tool.target->spec.nspace, kRankWildcard}});
}

bool ToolSoak::OnDebuggerAnswer(PlayedTool& tool, RequestId request) {
  if (request == 0) return false;
  if (request == tool.registration) {
    // A blind debugger does not wait for the report.
    const ToolTarget& job = *tool.target;
    const bool all = job.started.size() == job.spec.procs.size();
    if (tool.is_blind && all) Release(tool);
    return true;
  }
  if (request != tool.release) return false;
  const int status = cluster_.clients().StatusOf(request);
  if (status != kSuccess) {
    Error("the release by " + ToString(tool.proc) + " ends with " +
          std::to_string(status));
  }
  ++result_.releases;
  tool.registration = tool.release = 0;
  LeaveIfDone(tool);
  return true;
}

}  // namespace canopy::sim
