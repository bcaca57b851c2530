// Groups by invitation, as the libraries of processes make them by events. The
// leader is notified of every invited process that accepts, declines or ends.
// The invited processes are notified of the leader's decision to form the group
// or not, or of the leader's end.
#include <algorithm>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/event/event_info.h"
#include "tests/sim/soak_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr uint8_t kCustom = 6;  // pmix_data_range_t
constexpr uint64_t kThinks = 40 * kMs;

const std::vector<int>& Codes() {
  static const std::vector<int> codes = {PMIX_GROUP_INVITED,
                                         PMIX_GROUP_INVITE_ACCEPTED,
                                         PMIX_GROUP_INVITE_DECLINED,
                                         PMIX_GROUP_INVITE_FAILED,
                                         PMIX_GROUP_MEMBERSHIP_UPDATE,
                                         PMIX_GROUP_CONSTRUCT_ABORT,
                                         PMIX_GROUP_CONSTRUCT_COMPLETE,
                                         PMIX_GROUP_LEADER_FAILED};
  return codes;
}

Bytes About(const std::string& name) {
  Encoder out;
  out.PutSize(1);
  PutInfo(PMIX_GROUP_ID, PMIX_STRING, &out);
  out.PutString(name);
  return Bytes(out.Take());
}

}  // namespace

// Takes the leader's next step. The leader invites, waits, announces the
// members, constructs the group, announces it, and destructs it.
bool Soak::Lead(const ProcId& proc, Actor& actor, PlayedInvitation& one) {
  const auto tell = [&](int status, const std::vector<ProcId>& whom) {
    actor.operation = "event " + std::to_string(status);
    actor.waiting =
        cluster_.clients().Raise(proc, status, kCustom, whom, About(one.name));
    return true;
  };
  switch (actor.step++) {
    case 0:
      one.begun = true;
      return tell(PMIX_GROUP_INVITED, one.invited);
    case 1:
      if (one.heard.size() < one.invited.size()) {
        --actor.step;
        return true;
      }
      one.members = one.accepted;
      if (one.members.empty() ||
          (!one.tolerant && one.members.size() < one.invited.size())) {
        actor.step = kLastStep;
        return tell(PMIX_GROUP_CONSTRUCT_ABORT, one.invited);
      }
      return tell(PMIX_GROUP_MEMBERSHIP_UPDATE, one.members);
    case 2:
      BeginMember(proc, actor, one);
      return true;
    case 3:
      if (!actor.has_group) {
        actor.step = kLastStep;
        return tell(PMIX_GROUP_CONSTRUCT_ABORT, one.invited);
      }
      return tell(PMIX_GROUP_CONSTRUCT_COMPLETE, one.members);
    case 4:
      EndMember(proc, actor, one);
      return true;
    default:
      return false;
  }
}

// Takes the next step of an invited process. It waits for the invitation,
// pauses, replies, waits, and takes part in the group.
bool Soak::Join(const ProcId& proc, Actor& actor, PlayedInvitation& one) {
  switch (actor.step++) {
    case 0: {
      if (!one.told.contains(proc)) {
        --actor.step;
        return true;
      }
      actor.answers_at = cluster_.now() + static_cast<TimeNs>(Random(kThinks));
      cluster_.At(actor.answers_at, [this, proc] { ready_.push_back(proc); });
      return true;
    }
    case 1: {
      if (cluster_.now() < actor.answers_at) {
        --actor.step;
        return true;
      }
      const bool accepts = !OneIn(4);
      one.answers[proc] =
          accepts ? PMIX_GROUP_INVITE_ACCEPTED : PMIX_GROUP_INVITE_DECLINED;
      if (!accepts) actor.step = kLastStep;
      actor.operation = "event " + std::to_string(one.answers[proc]);
      actor.waiting = cluster_.clients().Raise(proc, one.answers[proc], kCustom,
                                               {one.leader}, About(one.name));
      return true;
    }
    case 2: {
      const auto outcome = one.outcome.find(proc);
      if (outcome == one.outcome.end()) {
        --actor.step;
        return true;
      }
      if (outcome->second != PMIX_GROUP_MEMBERSHIP_UPDATE) return false;
      BeginMember(proc, actor, one);
      return true;
    }
    case 3:
      if (!actor.has_group) return false;
      EndMember(proc, actor, one);
      return true;
    default:
      return false;
  }
}

void Soak::BeginMember(const ProcId& proc, Actor& actor,
                       const PlayedInvitation& one) {
  std::vector<ProcId> members = one.members;
  members.push_back(one.leader);
  BeginConstruct(proc, actor, one.name, one.name, members, "");
}

void Soak::EndMember(const ProcId& proc, Actor& actor,
                     const PlayedInvitation& one) {
  std::vector<ProcId> members = one.members;
  members.push_back(one.leader);
  BeginDestruct(proc, actor, one.name, one.name, members);
}

void Soak::BeginInvitation(const ProcId& proc, Actor& actor, const Op& op) {
  if (std::ranges::count(op.some, proc) == 0) return;
  const std::string name = "i" + std::to_string(op.number);
  PlayedInvitation& one = invitations_[name];
  if (one.name.empty()) {
    one.name = name;
    one.leader = op.leaver;
    one.invited = op.some;
    one.tolerant = !op.directive.empty();
    // Invitations are events, which jobs of other users do not get.
    std::erase_if(one.invited, [&](const ProcId& invited) {
      return invited == one.leader || !OfOneUser(invited, one.leader);
    });
  }
  const bool invited = std::ranges::count(one.invited, proc) > 0;
  if (one.invited.empty() || (proc != one.leader && !invited)) return;
  if (!actor.registered) {
    actor.registered = actor.goes_on = true;
    actor.operation = "registration for invitations";
    actor.waiting = cluster_.clients().WantEvents(proc, Codes());
    return;
  }
  if (!actor.goes_on) actor.step = 0;
  actor.goes_on =
      proc == one.leader ? Lead(proc, actor, one) : Join(proc, actor, one);
  if (!actor.goes_on) actor.step = 0;
}

void Soak::OnInvitationNotice(const ProcId& proc, int status,
                              const ProcId& source, const Bytes& info) {
  InfoList infos;
  if (!DecodeInfos(info.view(), &infos)) return;
  const auto found =
      invitations_.find(infos.FindString(PMIX_GROUP_ID).value_or(""));
  if (found == invitations_.end()) return;
  PlayedInvitation& one = found->second;
  const std::string what = ToString(proc) + " is told " +
                           std::to_string(status) + " of " + ToString(source) +
                           " about " + one.name;
  const bool fails =
      status == PMIX_GROUP_INVITE_FAILED || status == PMIX_GROUP_LEADER_FAILED;
  // After the loss of a node, each agent notifies its own processes, so a
  // notice of a failure may come twice.
  if (!one.notices.insert({proc, status, source}).second &&
      !(fails && any_fault_)) {
    Error(what + " again");
  }
  if (fails && actors_.contains(source) && !any_fault_) {
    Error(what + ", and it runs");
  }
  const bool to_leader = proc == one.leader;
  const bool from_leader = source == one.leader;
  const bool among = std::ranges::count(one.invited, proc) > 0;
  if (to_leader) {
    const auto answer = one.answers.find(source);
    const bool said = answer != one.answers.end() && answer->second == status;
    if (!said && status != PMIX_GROUP_INVITE_FAILED) Error(what + ", invented");
    if (std::ranges::count(one.invited, source) > 0 &&
        one.heard.insert(source).second &&
        status == PMIX_GROUP_INVITE_ACCEPTED) {
      one.accepted.push_back(source);
    }
  } else if (!from_leader || !among || !one.begun) {
    Error(what + ", not for it");
  } else if (status == PMIX_GROUP_INVITED) {
    one.told.insert(proc);
  } else {
    one.outcome.try_emplace(proc, status);
  }
  ready_.push_back(proc);
}

// The leader is not notified of the end of a process that has not received the
// invitation, because possibly no agent knows of both. A process that has not
// received the invitation when the leader's job ends never gets it. In these
// cases, and after partitions, processes that wait continue as if they had a
// time limit.
bool Soak::EndInvitation(const ProcId& proc, Actor& actor) {
  const Op& op = actor.job->script[actor.next];
  PlayedInvitation& one = invitations_.at("i" + std::to_string(op.number));
  const size_t heard = one.heard.size();
  if (proc == one.leader) {
    for (const ProcId& other : one.invited) {
      const bool excused =
          cut_off_ || (!actors_.contains(other) && !one.told.contains(other));
      if (excused) one.heard.insert(other);
    }
    return one.heard.size() > heard;
  }
  const bool unknown =
      !actors_.contains(one.leader) && !one.told.contains(proc);
  if (!unknown && !cut_off_) return false;
  actor.step = kLastStep;
  return true;
}

// Sets of jobs that a fault has hit need not arrive, and a process that
// reattaches to a successor is not notified of sets of finished jobs. Leaders
// continue first, because they may notify the other processes.
bool Soak::WakeGoingOn() {
  std::vector<ProcId> leaders;
  std::vector<ProcId> others;
  for (auto& [proc, actor] : actors_) {
    if (!actor.goes_on || actor.waiting != 0 || actor.stopped) continue;
    const Op& op = actor.job->script[actor.next];
    const bool leads = op.kind == Op::Kind::kInvite && proc == op.leaver;
    (leads ? leaders : others).push_back(proc);
  }
  return Wake(leaders) || Wake(others);
}

bool Soak::Wake(const std::vector<ProcId>& waiting) {
  bool any = false;
  for (const ProcId& proc : waiting) {
    Actor& actor = actors_.at(proc);
    const bool invites =
        actor.job->script[actor.next].kind == Op::Kind::kInvite;
    if (!(invites ? EndInvitation(proc, actor) : EndSet(proc, actor))) continue;
    ready_.push_back(proc);
    any = true;
  }
  return any;
}

bool Soak::EndSet(const ProcId& proc, Actor& actor) const {
  if (IsHarmed(*actor.job)) {
    actor.step = kLastStep;
    return true;
  }
  for (const auto& [name, set] : sets_) {
    const bool gone = options_.restarts && MayBeGone(set);
    if (gone) actor.excused_sets.insert(name);
  }
  return !AwaitsSets(proc, actor, actor.job->script[actor.next].number);
}

}  // namespace canopy::sim
