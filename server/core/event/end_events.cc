#include "server/core/event/end_events.h"

#include <sys/wait.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/event/group_events.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

// An agent that was restarted learns again of exits that its predecessor may
// have announced. `which`: of the events of that exit.
uint64_t IdOfEnd(const ProcExit& exit, uint32_t which) {
  return kAgentsEvent | uint64_t{exit.incarnation} << 16 | (which & UINT16_MAX);
}

// Of an end that is not in order.
int StatusOfEnd(const ProcExit& exit, int exit_code) {
  if (exit.restarted) return kErrProcRestart;
  const bool left = WIFEXITED(exit.wait_status) && exit_code == 0;
  return left ? kErrProcTermWoSync : kErrProcAborted;
}

EventRaised EndOf(const ProcId& proc, int status, EventRange range,
                  const int* exit_code) {
  EventRaised event;
  event.status = status;
  event.source = proc;
  event.range = static_cast<uint8_t>(range);
  event.info = AffectedProcInfo(proc, exit_code);
  return event;
}

}  // namespace

EndEvents::EndEvents(const JobTable& jobs, const Collectives& collectives,
                     Events& events, Invitations& invitations)
    : jobs_(jobs),
      collectives_(collectives),
      events_(events),
      invitations_(invitations) {}

void EndEvents::OnExit(TimeNs now, const Job& job, const ProcExit& exit,
                       Actions* actions) {
  NotifyJob(now, job, exit, actions);
  NotifyConnected(now, {job.nspace(), exit.rank}, exit, actions);
  NotifyGroups(now, {job.nspace(), exit.rank}, exit, actions);
  NotifyInvited(now, {job.nspace(), exit.rank}, exit, actions);
}

void EndEvents::NotifyJob(TimeNs now, const Job& job, const ProcExit& exit,
                          Actions* actions) {
  if (!IsAbnormal(exit)) return;
  const ProcId proc{job.nspace(), exit.rank};
  const int code = ExitCodeOf(exit);
  EventRaised event =
      EndOf(proc, StatusOfEnd(exit, code), EventRange::kNamespace, &code);
  if (exit.restarted) {
    event.info = AffectedProcInfo(proc, &code, /*non_default=*/true);
  }
  event.id = IdOfEnd(exit, 0);
  events_.OnRaised(now, event, actions);
}

// It ended without a disconnect: the processes connected with it are notified.
// Open MPI connects, never disconnects, and aborts in a handler that gets
// everything: what has ended in order, or goes on, is for those who ask for it.
void EndEvents::NotifyConnected(TimeNs now, const ProcId& proc,
                                const ProcExit& exit, Actions* actions) {
  const bool on_request = exit.restarted || !IsAbnormal(exit);
  uint32_t which = 0;
  for (std::vector<ProcId>& procs : collectives_.ConnectionsOf(proc)) {
    EventRaised event =
        EndOf(proc, kErrProcTermWoSync, EventRange::kCustom, nullptr);
    event.info = AffectedProcInfo(proc, nullptr, on_request);
    event.targets = std::move(procs);
    event.id = IdOfEnd(exit, ++which);
    events_.OnRaised(now, event, actions);
  }
}

// It ended without leaving its groups.
void EndEvents::NotifyGroups(TimeNs now, const ProcId& proc,
                             const ProcExit& exit, Actions* actions) {
  constexpr uint32_t kOfGroups = 1 << 15;
  uint32_t which = kOfGroups;
  for (const Group* group : collectives_.groups().Of(proc)) {
    ++which;
    if ((group->record.flags & kGroupNotifies) == 0) continue;
    EventRaised event = MemberFailed(*group, proc, jobs_);
    event.id = IdOfEnd(exit, which);
    events_.OnRaised(now, event, actions);
  }
}

// It ended before a group was formed that it was to lead, or was invited to.
void EndEvents::NotifyInvited(TimeNs now, const ProcId& proc,
                              const ProcExit& exit, Actions* actions) {
  constexpr uint32_t kOfInvitations = 1 << 14;
  uint32_t which = kOfInvitations;
  for (EventRaised& event : invitations_.OnExit(proc)) {
    event.id = IdOfEnd(exit, ++which);
    events_.OnRaised(now, event, actions);
  }
}

// Each agent of a member knows who is missing.
void EndEvents::OnIncomplete(TimeNs now, const Group& group, Actions* actions) {
  if ((group.record.flags & kGroupNotifies) == 0) return;
  for (const ProcId& proc : group.record.missing) {
    events_.OnKnownEverywhere(now, MemberFailed(group, proc, jobs_), actions);
  }
}

void EndEvents::OnFailed(TimeNs now, const FailedConstruct& construct,
                         Actions* actions) {
  Group group;
  group.name = construct.name;
  group.record.leader = construct.leader;
  for (const ProcId& proc : construct.missing) {
    events_.OnKnownEverywhere(now, MemberFailed(group, proc, jobs_), actions);
  }
}

void EndEvents::OnMemberLost(TimeNs now, const ProcId& proc, Actions* actions) {
  for (const Group* group : collectives_.groups().Of(proc)) {
    if ((group->record.flags & kGroupNotifies) == 0) continue;
    events_.OnKnownEverywhere(now, MemberFailed(*group, proc, jobs_), actions);
  }
}

void EndEvents::OnNodeLost(TimeNs now, NodeId node, Actions* actions) {
  for (const auto& [nspace, job] : jobs_.jobs()) {
    const uint32_t index = job.layout->node_of_agent(node);
    if (index == kNoNode || job.ending) continue;
    for (const Rank rank : job.layout->ranks_on(index)) {
      if (job.ranks[rank].ended) continue;
      events_.OnKnownEverywhere(now,
                                EndOf({nspace, rank}, kErrProcAborted,
                                      EventRange::kNamespace, nullptr),
                                actions);
      OnMemberLost(now, {nspace, rank}, actions);
    }
  }
  for (const EventRaised& event : invitations_.OnNodeLost(node)) {
    events_.OnKnownEverywhere(now, event, actions);
  }
}

}  // namespace canopy::core
