#include "server/core/event/end_events.h"

#include <sys/wait.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/event/group_events.h"
#include "server/core/event/lifecycle.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

// Returns the identity of an event about an exit. A restarted agent learns
// again of exits that its predecessor may have announced, and must give their
// events the same identity. `which` numbers the events of one exit.
uint64_t IdOfEnd(const ProcExit& exit, uint32_t which) {
  return kAgentsEvent | uint64_t{exit.incarnation} << 16 | (which & UINT16_MAX);
}

// Returns the status of an abnormal end.
int StatusOfEnd(const ProcExit& exit, int exit_code) {
  if (exit.restarted) return kErrProcRestart;
  const bool left = WIFEXITED(exit.wait_status) && exit_code == 0;
  return left ? kErrProcTermWoSync : kErrProcAborted;
}

EventRaised EndOf(const ProcId& proc, int status, DataRange range,
                  const int* exit_code) {
  EventRaised event;
  event.status = status;
  event.source = proc;
  event.range = static_cast<uint8_t>(range);
  event.info = AffectedProcInfo(proc, exit_code);
  return event;
}

}  // namespace

EndEvents::EndEvents(const CoreConfig& config, const JobTable& jobs,
                     const Collectives& collectives, Events& events,
                     Invitations& invitations, ControllerOf controller_of)
    : config_(config),
      jobs_(jobs),
      collectives_(collectives),
      events_(events),
      invitations_(invitations),
      controller_of_(std::move(controller_of)) {}

void EndEvents::OnExit(const StepContext& step, const Job& job,
                       const ProcExit& exit, bool told) {
  // While a job is being ended, its own processes, those connected to them and
  // the members of their groups get these events only if they have registered
  // for the codes.
  if (!job.ending) {
    NotifyJob(step, job, exit);
    NotifyConnected(step, {job.nspace(), exit.rank}, exit);
    NotifyGroups(step, {job.nspace(), exit.rank}, exit);
  }
  NotifyInvited(step, job, exit);
  Announce(step, job, exit, told);
}

void EndEvents::OnNoneStarted(const StepContext& step, const Job& job) {
  for (const Rank rank : job.local_ranks()) {
    Announce(step, job, {rank, kNeverStarted}, false);
  }
}

void EndEvents::Announce(const StepContext& step, const Job& job,
                         const ProcExit& exit, bool told) {
  const int exit_code = ExitCodeOf(exit);
  const bool ran = exit.wait_status != kNeverStarted;
  if (ran) {
    AnnounceEnd(step, job, exit, kEventProcTerminated, &exit_code);
  }
  const int code = CodeOfEnd(exit, told);
  if (code == 0) return;
  AnnounceEnd(step, job, exit, code, ran ? &exit_code : nullptr);
}

// The job's spawner is notified of the end of a process by the job's
// controller, which knows what the spawner requested.
void EndEvents::AnnounceEnd(const StepContext& step, const Job& job,
                            const ProcExit& exit, int code,
                            const int* exit_code) {
  const ProcId& parent = job.spec->parent;
  std::vector<ProcId> except;
  if (code == kEventProcTerminated && !parent.nspace.empty()) {
    except.push_back(parent);
  }
  const ProcId proc{job.nspace(), exit.rank};
  events_.OnRaised(step, ProcLifecycleEvent(proc, exit.incarnation, code,
                                            exit_code, std::move(except)));
}

void EndEvents::NotifyJob(const StepContext& step, const Job& job,
                          const ProcExit& exit) {
  if (!IsAbnormal(exit)) return;
  const ProcId proc{job.nspace(), exit.rank};
  const int code = ExitCodeOf(exit);
  EventRaised event =
      EndOf(proc, StatusOfEnd(exit, code), DataRange::kNamespace, &code);
  if (exit.restarted) {
    event.info = AffectedProcInfo(proc, &code, /*non_default=*/true);
  }
  event.id = IdOfEnd(exit, 0);
  events_.OnRaised(step, event);
}

// Notifies the processes that are connected to a process which has ended
// without PMIx_Disconnect. Open MPI connects, never disconnects, and aborts in
// a handler for all events, so only handlers of the code are notified of a
// normal end or a restart.
void EndEvents::NotifyConnected(const StepContext& step, const ProcId& proc,
                                const ProcExit& exit) {
  const bool on_request = exit.restarted || !IsAbnormal(exit);
  uint32_t which = 0;
  for (std::vector<ProcId>& procs : collectives_.ConnectionsOf(proc)) {
    EventRaised event =
        EndOf(proc, kErrProcTermWoSync, DataRange::kCustom, nullptr);
    event.info = AffectedProcInfo(proc, nullptr, on_request);
    event.targets = std::move(procs);
    event.id = IdOfEnd(exit, ++which);
    events_.OnRaised(step, event);
  }
}

// Raises PMIX_GROUP_MEMBER_FAILED for each group of which the process is still
// a member, if the group has requested such notifications.
void EndEvents::NotifyGroups(const StepContext& step, const ProcId& proc,
                             const ProcExit& exit) {
  constexpr uint32_t kOfGroups = 1 << 15;
  uint32_t which = kOfGroups;
  for (const Group* group : collectives_.groups().Of(proc)) {
    ++which;
    if ((group->record.flags & kGroupNotifies) == 0) continue;
    EventRaised event = MemberFailed(*group, proc, jobs_);
    event.id = IdOfEnd(exit, which);
    events_.OnRaised(step, event);
  }
}

// Notifies the participants of the pending invitations in which the process was
// the leader or was invited. If the job of the process is being ended, its
// other processes need no notification.
void EndEvents::NotifyInvited(const StepContext& step, const Job& job,
                              const ProcExit& exit) {
  for (EventRaised& event : invitations_.OnExit({job.nspace(), exit.rank})) {
    std::erase_if(event.targets, [&](const ProcId& target) {
      return job.ending && target.nspace == job.nspace();
    });
    if (!event.targets.empty()) events_.OnRaised(step, event);
  }
}

// Only local clients are notified, because every member's agent knows which
// participants are missing.
void EndEvents::OnIncomplete(const StepContext& step, const Group& group) {
  if ((group.record.flags & kGroupNotifies) == 0) return;
  for (const ProcId& proc : group.record.missing) {
    events_.OnKnownEverywhere(step, MemberFailed(group, proc, jobs_));
  }
}

void EndEvents::OnFailed(const StepContext& step,
                         const FailedConstruct& construct) {
  Group group;
  group.name = construct.name;
  group.record.leader = construct.leader;
  for (const ProcId& proc : construct.missing) {
    events_.OnKnownEverywhere(step, MemberFailed(group, proc, jobs_));
  }
}

void EndEvents::OnMemberLost(const StepContext& step, const ProcId& proc) {
  for (const Group* group : collectives_.groups().Of(proc)) {
    if ((group->record.flags & kGroupNotifies) == 0) continue;
    EventRaised event = MemberFailed(*group, proc, jobs_);
    event.id = IdOfLoss(IdOfGroup(*group));
    events_.OnKnownEverywhere(step, event);
  }
}

void EndEvents::OnNodeLost(const StepContext& step,
                           const NodeStateChanged& in) {
  const NodeId node = in.node;
  for (const auto& [nspace, job] : jobs_.jobs()) {
    const uint32_t index = job.layout->node_of_agent(node);
    if (index != kNoNode) {
      for (const Rank rank : job.layout->ranks_on(index)) {
        if (!job.ranks[rank].ended) OnProcLost(step, job, rank);
      }
    }
    if (controller_of_(nspace) == node) OnControllerLost(step, job);
  }
  for (const EventRaised& event : invitations_.OnLoss(node)) {
    events_.OnKnownEverywhere(step, event);
  }
  ReportNode(step, in);
}

void EndEvents::ReportNode(const StepContext& step,
                           const NodeStateChanged& in) {
  if (in.life == 0) return;
  const ProcId agent{config_.server_nspace, in.node};
  events_.OnKnownEverywhere(
      step,
      NodeLifecycleEvent(agent, config_.node_names[in.node], in.life, in.left));
}

void EndEvents::OnProcLost(const StepContext& step, const Job& job, Rank rank) {
  const ProcId proc{job.nspace(), rank};
  if (!job.ending) {
    EventRaised lost =
        EndOf(proc, kErrProcAborted, DataRange::kNamespace, nullptr);
    lost.id = IdOfLoss(0);
    events_.OnKnownEverywhere(step, lost);
    OnMemberLost(step, proc);
  }
  if (controller_of_(job.nspace()) != config_.self) return;
  // The exit status of the process is unknown.
  ProcExit exit;
  exit.rank = rank;
  exit.incarnation = job.ranks[rank].incarnation;
  AnnounceEnd(step, job, exit, kEventProcTerminated, nullptr);
}

// The exits of the job's remaining processes can no longer be collected, so the
// event reports only that the job is over.
void EndEvents::OnControllerLost(const StepContext& step, const Job& job) {
  const ProcId all{job.nspace(), kRankWildcard};
  events_.OnRaised(step,
                   JobLifecycleEvent(job.nspace(), kErrJobAbortedBySysEvent,
                                     LifecycleInfo(all, nullptr), {}));
}

}  // namespace canopy::core
