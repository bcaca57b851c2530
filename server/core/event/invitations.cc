#include "server/core/event/invitations.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/seek_info.h"
#include "common/status.h"
#include "common/time_units.h"
#include "server/core/event/event_cache.h"
#include "server/core/event/events.h"
#include "server/core/publish/digest.h"
#include "server/core/step/group_keys.h"

namespace canopy::core {
namespace {

// Status codes of the Standard.
constexpr int kInvited = -159;            // PMIX_GROUP_INVITED
constexpr int kDeclined = -162;           // PMIX_GROUP_INVITE_DECLINED
constexpr int kInviteFailed = -163;       // PMIX_GROUP_INVITE_FAILED
constexpr int kConstructAbort = -165;     // PMIX_GROUP_CONSTRUCT_ABORT
constexpr int kConstructComplete = -166;  // PMIX_GROUP_CONSTRUCT_COMPLETE
constexpr int kLeaderSelected = -167;     // PMIX_GROUP_LEADER_SELECTED
constexpr int kLeaderFailed = -168;       // PMIX_GROUP_LEADER_FAILED

// Returns the group's name; "" if the event names no group.
std::string GroupOf(const EventMessage& event) {
  Decoder in(event.info.view());
  uint16_t type = 0;
  std::string_view name;
  const bool read = SeekInfo(kGroupIdKey, &in) && in.GetUint16(&type) &&
                    type == PMIX_STRING && in.GetString(&name);
  return read ? std::string(name) : "";
}

bool Covers(const ProcId& name, const ProcId& proc) {
  return name.nspace == proc.nspace &&
         (name.rank == proc.rank || name.rank == kRankWildcard);
}

bool IsAmong(const ProcId& proc, const std::vector<ProcId>& procs) {
  return std::ranges::any_of(
      procs, [&](const ProcId& one) { return Covers(one, proc); });
}

// Returns the identity of the events about the ends of processes that this
// event concerns. Each of these events has the process as its source.
uint64_t IdOfFailure(const EventMessage& invitation) {
  constexpr uint64_t kOfInvitations = uint64_t{1} << 58;
  const EventId id = IdOf(invitation);
  const uint64_t digest =
      DigestOf(DigestOf(HashOf(id.raiser.nspace), id.raiser.rank), id.number);
  return kAgentsEvent | kOfInvitations | (digest & (kOfInvitations - 1));
}

void PutHead(const char* key, uint16_t type, Encoder* out) {
  out->PutString(key);
  out->PutUint32(0);
  out->PutUint16(type);
}

// Returns the infos of an event about the process and the group. `members` is
// empty if the receiver knows them.
Bytes InfoAbout(const std::string& name, const ProcId& proc,
                const std::vector<ProcId>& members) {
  Encoder out;
  out.PutSize(members.empty() ? 2u : 3u);
  PutHead(kGroupIdKey, PMIX_STRING, &out);
  out.PutString(name);
  PutHead(kAffectedProcKey, PMIX_PROC, &out);
  out.PutProc(proc);
  if (!members.empty()) {
    PutHead(kGroupMembershipKey, PMIX_DATA_ARRAY, &out);
    out.PutUint16(PMIX_PROC);
    out.PutSize(members.size());
    for (const ProcId& member : members) out.PutProc(member);
  }
  return Bytes(out.Take());
}

EventRaised EventOf(int status, const ProcId& proc, std::vector<ProcId> targets,
                    Bytes info) {
  EventRaised event;
  event.status = status;
  event.source = proc;
  event.range = static_cast<uint8_t>(DataRange::kCustom);
  event.targets = std::move(targets);
  event.info = std::move(info);
  return event;
}

EventRaised LeaderFailed(const ProcId& leader, const std::string& name,
                         const std::vector<ProcId>& invited) {
  return EventOf(kLeaderFailed, leader, invited,
                 InfoAbout(name, leader, invited));
}

EventRaised InviteFailed(const ProcId& leader, const std::string& name,
                         const ProcId& proc) {
  return EventOf(kInviteFailed, proc, {leader}, InfoAbout(name, proc, {}));
}

EventRaised WithId(EventRaised event, uint64_t id) {
  event.id = id;
  return event;
}

}  // namespace

std::vector<ProcId> Invitations::Invitation::Procs() const {
  std::vector<ProcId> procs;
  for (const Invited& one : invited) procs.push_back(one.proc);
  return procs;
}

void Invitations::OnEvent(const EventMessage& event) {
  if (event.status > kInvited || event.status < kLeaderFailed) return;
  const std::string name = GroupOf(event);
  if (name.empty()) return;
  switch (event.status) {
    case kInvited:
    case kLeaderSelected:
      NoteEnded(event, name);
      if (ConcernsThisNode(event)) Add(event, name);
      break;
    case kDeclined:
      for (Invitation& one : invitations_) {
        if (one.name != name || !IsAmong(one.leader, event.targets)) continue;
        Remove(event.source, &one);
      }
      break;
    case kConstructAbort:
    case kConstructComplete:
    case kLeaderFailed:
      Erase(event.source, name);
      break;
    default:
      break;
  }
}

void Invitations::NoteEnded(const EventMessage& event,
                            const std::string& name) const {
  for (const ProcId& proc : event.targets) {
    const Job* job = jobs_.Find(proc.nspace);
    if (job == nullptr || !job->is_local(proc.rank) ||
        !job->ranks[proc.rank].ended) {
      continue;
    }
    Post(EventDue{
        WithId(InviteFailed(event.source, name, proc), IdOfFailure(event)),
        false});
  }
}

bool Invitations::ConcernsThisNode(const EventMessage& event) const {
  const auto is_here = [&](const ProcId& proc) {
    const Job* job = jobs_.Find(proc.nspace);
    if (job == nullptr || job->local_node == kNoNode) return false;
    return proc.rank == kRankWildcard || job->is_local(proc.rank);
  };
  return is_here(event.source) || std::ranges::any_of(event.targets, is_here);
}

void Invitations::Add(const EventMessage& event, const std::string& name) {
  Invitation invitation{event.source, name, {}};
  for (const ProcId& proc : event.targets) {
    invitation.invited.push_back({proc, IdOfFailure(event)});
  }
  num_invited_ += invitation.invited.size();
  // A leader may invite replacements for processes that declined.
  const auto known =
      std::ranges::find_if(invitations_, [&](const Invitation& one) {
        return one.leader == invitation.leader && one.name == invitation.name;
      });
  if (known != invitations_.end()) {
    invitation.invited.insert(invitation.invited.end(), known->invited.begin(),
                              known->invited.end());
    invitations_.erase(known);
  }
  invitations_.push_back(std::move(invitation));
  while (num_invited_ > kMaxInvited) {
    num_invited_ -= invitations_.front().invited.size();
    invitations_.pop_front();
  }
}

void Invitations::Remove(const ProcId& proc, Invitation* invitation) {
  num_invited_ -= std::erase_if(invitation->invited, [&](const Invited& one) {
    return one.proc == proc;
  });
}

void Invitations::Erase(const ProcId& leader, const std::string& name) {
  std::erase_if(invitations_, [&](const Invitation& one) {
    if (one.leader != leader || one.name != name) return false;
    num_invited_ -= one.invited.size();
    return true;
  });
}

std::vector<EventRaised> Invitations::OnExit(const ProcId& proc) {
  std::vector<EventRaised> events;
  for (Invitation& one : invitations_) {
    const auto invited = std::ranges::find_if(
        one.invited, [&](const Invited& i) { return Covers(i.proc, proc); });
    if (one.leader == proc && !one.invited.empty()) {
      events.push_back(WithId(LeaderFailed(proc, one.name, one.Procs()),
                              one.invited.front().failure));
    } else if (invited != one.invited.end()) {
      events.push_back(
          WithId(InviteFailed(one.leader, one.name, proc), invited->failure));
      Remove(proc, &one);
    }
  }
  std::erase_if(invitations_, [&](const Invitation& one) {
    if (one.leader != proc) return false;
    num_invited_ -= one.invited.size();
    return true;
  });
  return events;
}

NodeId Invitations::NodeOf(const ProcId& proc) const {
  const Job* job = jobs_.Find(proc.nspace);
  return job == nullptr || proc.rank >= job->num_ranks()
             ? kNoNode
             : job->agent_of(proc.rank);
}

std::vector<EventRaised> Invitations::OnLoss(NodeId node) {
  std::vector<EventRaised> events;
  for (Invitation& one : invitations_) {
    if (NodeOf(one.leader) == node) {
      events.push_back(LeaderFailed(one.leader, one.name, one.Procs()));
      continue;
    }
    num_invited_ -= std::erase_if(one.invited, [&](const Invited& invited) {
      if (NodeOf(invited.proc) != node) return false;
      events.push_back(InviteFailed(one.leader, one.name, invited.proc));
      return true;
    });
  }
  std::erase_if(invitations_, [&](const Invitation& one) {
    if (NodeOf(one.leader) != node) return false;
    num_invited_ -= one.invited.size();
    return true;
  });
  return events;
}

void Invitations::OnJobRemoved(const StepContext& /*step*/,
                               const RemovedJob& job) {
  std::erase_if(invitations_, [&](const Invitation& one) {
    if (one.leader.nspace != job.nspace) return false;
    num_invited_ -= one.invited.size();
    return true;
  });
}

void Invitations::OnWait(const StepContext& step, const GroupCallArrived& in) {
  const auto held = std::ranges::count_if(waits_, [&](const auto& item) {
    return item.second.client == in.client;
  });
  if (static_cast<size_t>(held) >= kMaxWaitsOfClient) {
    step.out.push_back(
        ReplyClient{in.client, in.request, kErrOutOfResource, {}});
    return;
  }
  const ProcId* caller = jobs_.ProcOf(in.client);
  std::set<std::string> nspaces;
  if (caller != nullptr) nspaces.insert(caller->nspace);
  for (const ProcId& proc : in.procs) nspaces.insert(proc.nspace);
  waits_.emplace(
      step.now + in.timeout_ms * kNsPerMs,
      Wait{in.client, in.request, step.now, {nspaces.begin(), nspaces.end()}});
}

void Invitations::OnClientGone(const StepContext& /*step*/, ClientId client) {
  std::erase_if(waits_,
                [&](const auto& item) { return item.second.client == client; });
}

void Invitations::OnTick(const StepContext& step) {
  while (!waits_.empty() && waits_.begin()->first <= step.now) {
    const auto [when, first] = *waits_.begin();
    Wait wait = first;
    waits_.erase(waits_.begin());
    const TimeNs due =
        jobs_.holds().DueAt(step.now, wait.since, when, wait.nspaces);
    if (due > step.now) {
      wait.since = step.now;
      waits_.emplace(due, std::move(wait));
    } else {
      step.out.push_back(
          ReplyClient{wait.client, wait.request, kErrTimeout, {}});
    }
  }
}

TimeNs Invitations::NextDeadline() const {
  return waits_.empty() ? kNever : waits_.begin()->first;
}

}  // namespace canopy::core
