// Events are handled one by one, in the order in which they were posted: each
// engine learns of the changes of the others in the order in which they
// happened. Invariant: every engine has dropped a removed job before it is
// notified that a job of the same name was added. An input whose second part
// relies on this posts that part as an event (JobMessageDue, SpawnReplyDue).
//
// An event that concerns several engines reaches them in the order of their
// table (engines.h).
#include "server/core/dispatch/propagation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "server/core/dispatch/lending.h"
#include "server/core/dispatch/peer_dispatch.h"
#include "server/core/event/group_events.h"

namespace canopy::core {
namespace {

void RaiseForAll(Engines& e, const EventRaised& event) {
  e.events.RaiseForAll(e.step(), event);
}

// ---------------------------------------------------------------- jobs ---

void DropOnce(Engines& e, const std::string& nspace) {
  const bool dropped =
      std::any_of(e.out.begin(), e.out.end(), [&](const Action& action) {
        const auto* drop = std::get_if<DropJob>(&action);
        return drop != nullptr && drop->nspace == nspace;
      });
  if (!dropped) e.out.push_back(DropJob{nspace});
}

// Process sets end before their job, so that the events engine still knows the
// job.
void On(Engines& e, const RemovedJob& job) {
  if (e.tree.root() == e.self) {
    for (const EventRaised& end : e.sets.DeletionsOf(job.nspace)) {
      RaiseForAll(e, end);
    }
  }
  e.ForEach([&](Engine& engine) { engine.OnJobRemoved(e.step(), job); });
  e.modex.DropJob(job.nspace);
  if (job.registered) DropOnce(e, job.nspace);
}

void On(Engines& e, const ReleasedJob& job) {
  e.out.push_back(DropJob{job.nspace});
}

// Requests the map of the job's parent. Local processes may get job data of
// their parent, even after the parent is over.
void WantParentOf(Engines& e, const std::string& nspace) {
  const Job* job = e.jobs.Find(nspace);
  if (job == nullptr || job->local_node == kNoNode) return;
  const std::string& parent = job->spec->parent.nspace;
  if (!parent.empty()) e.maps.Want(e.step(), parent);
}

void On(Engines& e, const AddedJob& added) {
  const std::string& nspace = added.nspace;
  WantParentOf(e, nspace);
  const Job* job = e.jobs.Find(nspace);
  if (job != nullptr && e.engine.ControllerOf(nspace) == e.self) {
    for (const EventRaised& set : e.sets.OfApplications(*job)) {
      RaiseForAll(e, set);
    }
  }
  e.ForEach([&](Engine& engine) { engine.OnJobAdded(e.step(), nspace); });
  LendJob(e, nspace);
}

// Since this event was posted, this agent may have taken part in the job again.
void On(Engines& e, const LeftJob& job) {
  if (e.engine.TakesPart(job.nspace)) return;
  e.maps.Keep(e.step(), job.nspace, job.controller);
}

// Removes the rank from its groups, because the rank's new process is in none
// of them.
void LeaveGroups(Engines& e, const ProcId& proc) {
  std::vector<Groups::Key> keys;
  for (const Group* group : e.collectives.groups().Of(proc)) {
    keys.emplace_back(group->name, group->participants);
  }
  for (const Groups::Key& key : keys) {
    const Group* group = e.collectives.groups().Find(key.first, key.second);
    if (group != nullptr) Leave(e, *group, proc);
  }
}

void On(Engines& e, const RestartedRank& rank) {
  LeaveGroups(e, rank.proc);
  e.ForEach(
      [&](Engine& engine) { engine.OnRankRestarted(e.step(), rank.proc); });
}

void On(Engines& e, const GoneRanks& gone) {
  ProcId proc{gone.nspace, 0};
  for (const Rank rank : gone.ranks) {
    proc.rank = rank;
    e.ForEach([&](auto& engine) { engine.OnRankGone(e.step(), proc); });
  }
}

// ------------------------------------------------------- data and maps ---

void On(Engines& e, const DataChange& change) {
  e.gets.OnData(e.step(), change);
}

void On(Engines& e, const MapWanted& map) { e.maps.Want(e.step(), map.nspace); }

void On(Engines& e, const MapUnknown& map) {
  e.ForEach([&](Engine& engine) { engine.OnJobUnknown(e.step(), map.nspace); });
}

// -------------------------------------------------------------- groups ---

void On(Engines& e, const GroupIncomplete& incomplete) {
  const Group* group =
      e.collectives.groups().Find(incomplete.name, incomplete.participants);
  if (group != nullptr) e.ends.OnIncomplete(e.step(), *group);
}

void On(Engines& e, const FailedConstruct& construct) {
  e.ends.OnFailed(e.step(), construct);
}

void On(Engines& e, const MemberFollowed& member) {
  const Group* group =
      e.collectives.groups().Find(member.name, member.participants);
  if (group != nullptr && group->Has(member.proc))
    Leave(e, *group, member.proc);
}

// ----------------------------------- events, debuggers and process sets ---

void On(Engines& e, const EventDue& due) {
  if (due.for_all) return RaiseForAll(e, due.event);
  e.events.OnRaised(e.step(), due.event);
}

void On(Engines& e, const HoldsRecorded& holds) {
  if (e.config.persists) e.out.push_back(holds.record);
}

// When a hold begins, nothing is done for the time limits of the job, because
// they are checked when they are due.
void On(Engines& e, const HoldChanged& change) {
  if (!change.held) e.engine.OnHoldEnded(e.step(), change.nspace);
  e.out.push_back(JobHeld{change.nspace, change.held});
}

void On(Engines& e, const StopReleased& released) {
  e.out.push_back(released.signal);
}

void On(Engines& e, const ReplyDue& due) { e.out.push_back(due.reply); }

void On(Engines& e, const LateSetEnded& set) {
  if (e.tree.root() == e.self) RaiseForAll(e, set.event);
}

// The events of the job are dropped, as at the end of a job that is known to
// this agent.
void On(Engines& e, const SetsDropped& sets) {
  e.events.OnJobRemoved(e.step(), {sets.nspace});
}

// ---------------------------------------------- inputs that have waited ---

// The handling of a message may rely on the changes that the previous message
// has caused.
void On(Engines& e, const MessagesReleased& released) {
  for (const PeerMessage& message : released.messages) {
    OnPeerMessage(e, message);
    PropagateChanges(e);
  }
}

void On(Engines& e, const JobMessageDue& due) {
  e.engine.OnPeer(e.step(), *due.message);
}

void On(Engines& e, const SpawnReplyDue& due) {
  e.spawns.OnReply(e.step(), due.reply);
}

void On(Engines& e, const PushDue& push) {
  e.forwarding.SendPush(e.step(), push);
}

}  // namespace

void PropagateChanges(Engines& e) {
  if (!e.owners.is_idle() && e.engine.IsAuthoritative()) {
    e.owners.OnAuthoritative();
  }
  while (!e.queue.empty()) {
    const CoreEvent event = e.queue.Take();
    std::visit([&](const auto& change) { On(e, change); }, event);
  }
}

// The event is persisted before the leave, so a successor that finds the record
// of the leave also finds the event, and raises it.
void Leave(Engines& e, const Group& group, const ProcId& proc) {
  // The name and the number are copied, because a group of a single member ends
  // in this function.
  const std::string name = group.name;
  const uint64_t made = group.record.made;
  const Job* job = e.jobs.Find(proc.nspace);
  if (job != nullptr && job->is_local(proc.rank)) {
    const EventRaised left = MemberLeft(group, proc, e.jobs);
    if (!left.targets.empty()) e.events.RaiseForAll(e.step(), left);
  }
  e.collectives.OnLeft(e.step(), proc, name, made);
}

}  // namespace canopy::core
