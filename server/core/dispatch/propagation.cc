// An engine notifies others by keeping news, which this file moves on.
// PropagateChanges first drops process sets whose jobs are over. Then it
// repeats the following round until no engine has news:
//
//   1. groups that were constructed without a member, or not at all
//   2. events of invitations and of debugger stops, and holds by debuggers
//   3. output and input that is due to readers of other jobs
//   4. maps that engines need, and maps that no agent has
//   5. changes of the job table: removed jobs, then added jobs, jobs of which
//      only the map is left, restarted ranks, and ranks that are gone
//   6. changes of committed data
//
// The changes of steps 5 and 6 are taken from their owners before step 4. News
// that a round causes is handled in the next round. Invariant: every engine has
// dropped a removed job before a job of the same name is added.
#include "server/core/dispatch/propagation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "server/core/event/group_events.h"

namespace canopy::core {
namespace {

// Most steps change nothing that another engine has to know.
bool HasChanges(const Engines& e) {
  return e.collectives.has_news() || e.jobs.has_changes() ||
         e.modex.has_changed() || e.gets.has_wanted() ||
         e.queries.has_wanted() || e.maps.has_unknown() ||
         e.invitations.has_due() || e.stops.has_due() ||
         e.forwarding.has_due() || e.jobs.holds().has_changes();
}

// The jobs of these sets are over. Subscriptions for events of these jobs are
// dropped as well.
void DropSets(Engines& e) {
  const std::vector<EventRaised> late = e.sets.TakeLate();
  if (e.tree.root() == e.self) RaiseForAll(e, late);
  if (e.owners.is_idle()) return;
  if (e.engine.IsAuthoritative()) e.owners.OnAuthoritative();
  for (const std::string& nspace : e.owners.TakeDropped()) {
    e.events.OnJobRemoved(nspace, &e.out);
  }
}

// Handles groups that were constructed without some participants, constructs
// that failed, and members whose process was replaced.
void FollowGroups(Engines& e) {
  for (const Groups::Key& key : e.collectives.TakeIncomplete()) {
    const Group* group = e.collectives.groups().Find(key.first, key.second);
    if (group != nullptr) e.ends.OnIncomplete(e.now, *group, &e.out);
  }
  for (const FailedConstruct& construct : e.collectives.TakeFailed()) {
    e.ends.OnFailed(e.now, construct, &e.out);
  }
  for (const auto& [key, proc] : e.collectives.TakeFollowed()) {
    const Group* group = e.collectives.groups().Find(key.first, key.second);
    if (group != nullptr && group->Has(proc)) Leave(e, *group, proc);
  }
}

// Local holds are persisted before other agents are notified.
void FollowLocalHolds(Engines& e) {
  for (PersistRecord& record : e.stops.local().TakeRecords()) {
    if (e.config.persists) e.out.push_back(std::move(record));
  }
  RaiseForAll(e, e.stops.local().TakeDue());
}

// The limits of a job that is held again are checked when they are due.
void FollowHolds(Engines& e) {
  for (DebugHolds::Change& change : e.jobs.holds().TakeChanges()) {
    if (!change.held) e.engine.OnHoldEnded(e.now, change.nspace, &e.out);
    e.out.push_back(JobHeld{std::move(change.nspace), change.held});
  }
}

// A raised event may be the last one that another hold has waited for.
void FollowStops(Engines& e) {
  for (SignalLocal& released : e.stops.TakeReleased()) {
    e.out.push_back(std::move(released));
  }
  for (std::vector<EventRaised> due = e.stops.TakeDue(); !due.empty();
       due = e.stops.TakeDue()) {
    RaiseForAll(e, due);
  }
}

// Requests the maps that engines need, and reports maps that no agent has.
void RequestMaps(Engines& e) {
  std::vector<std::string> wanted = e.collectives.TakeWanted();
  for (std::string& nspace : e.gets.TakeWanted()) {
    wanted.push_back(std::move(nspace));
  }
  for (std::string& nspace : e.queries.TakeWanted()) {
    wanted.push_back(std::move(nspace));
  }
  for (const std::string& nspace : wanted) e.maps.Want(e.now, nspace, &e.out);
  const std::vector<std::string> unknown = e.maps.TakeUnknown();
  for (const std::string& nspace : unknown) {
    e.collectives.OnJobUnknown(e.now, nspace, &e.out);
    e.gets.OnJobUnknown(e.now, nspace, &e.out);
    e.queries.OnJobUnknown(e.now, nspace, &e.out);
  }
}

void DropOnce(Engines& e, const std::string& nspace) {
  const bool dropped =
      std::any_of(e.out.begin(), e.out.end(), [&](const Action& action) {
        const auto* drop = std::get_if<DropJob>(&action);
        return drop != nullptr && drop->nspace == nspace;
      });
  if (!dropped) e.out.push_back(DropJob{nspace});
}

void OnRemoved(Engines& e, const RemovedJob& job) {
  e.aborts.OnJobRemoved(job.nspace, &e.out);
  e.host.OnJobRemoved(job.nspace, &e.out);
  e.forwarding.OnJobRemoved(e.now, job.nspace, &e.out);
  e.spawns.OnJobRemoved(job.nspace);
  e.collectives.OnJobRemoved(job.nspace, &e.out);
  e.gets.OnJobRemoved(e.now, job.nspace, &e.out);
  e.publishing.OnJobRemoved(e.now, job.nspace, &e.out);
  if (e.tree.root() == e.self) RaiseForAll(e, e.sets.DeletionsOf(job.nspace));
  e.sets.OnJobRemoved(job.nspace);
  e.owners.OnJobRemoved(job.nspace);
  e.events.OnJobRemoved(job.nspace, &e.out);
  e.invitations.OnJobRemoved(job.nspace);
  e.stops.OnJobRemoved(job.nspace);
  e.modex.DropJob(job.nspace);
  e.maps.OnJobRemoved(job, &e.out);
  if (job.registered) DropOnce(e, job.nspace);
}

// Requests the map of the job's parent. Local processes may get job data of
// their parent, even after the parent is over.
void WantParentOf(Engines& e, const std::string& nspace) {
  const Job* job = e.jobs.Find(nspace);
  if (job == nullptr || job->local_node == kNoNode) return;
  const std::string& parent = job->spec->parent.nspace;
  if (!parent.empty()) e.maps.Want(e.now, parent, &e.out);
}

void OnAdded(Engines& e, const std::string& nspace) {
  e.engine.OnJobAdded(nspace);
  WantParentOf(e, nspace);
  if (e.engine.ControllerOf(nspace) == e.self) {
    RaiseForAll(e, e.sets.OfApplications(*e.jobs.Find(nspace)));
  }
  e.collectives.OnJobAdded(e.now, nspace, &e.out);
  e.gets.OnJobAdded(e.now, nspace, &e.out);
  e.queries.OnJobAdded(e.now, nspace, &e.out);
}

// This agent may have taken a part in the job again in the same step.
void OnLeft(Engines& e, const LeftJob& job) {
  if (e.engine.TakesPart(job.nspace)) return;
  e.maps.Keep(job.nspace, job.controller, &e.out);
}

// The rank's new process is in none of the rank's groups.
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

void OnGone(Engines& e, const ProcId& proc) {
  e.stops.local().OnFree(e.now, proc);
  e.collectives.OnRankGone(e.now, proc, &e.out);
  e.gets.OnRankGone(e.now, proc, &e.out);
  e.aborts.OnRankGone(proc, &e.out);
  e.host.OnRankGone(proc, &e.out);
  e.publishing.OnRankGone(e.now, proc, &e.out);
}

void Apply(Engines& e, const JobChanges& changes) {
  // Removed jobs come first: the same job may be added again, as one whose
  // messages this agent only forwards.
  for (const RemovedJob& job : changes.removed) OnRemoved(e, job);
  for (const std::string& nspace : changes.released) {
    e.out.push_back(DropJob{nspace});
  }
  for (const std::string& nspace : changes.added) OnAdded(e, nspace);
  for (const LeftJob& job : changes.left) OnLeft(e, job);
  for (const ProcId& proc : changes.restarted) {
    LeaveGroups(e, proc);
    e.collectives.OnRankRestarted(e.now, proc, &e.out);
    e.publishing.OnRankRestarted(e.now, proc, &e.out);
  }
  for (const ProcId& proc : changes.gone) OnGone(e, proc);
}

}  // namespace

void PropagateChanges(Engines& e) {
  DropSets(e);
  while (HasChanges(e)) {
    FollowGroups(e);
    for (const EventRaised& event : e.invitations.TakeDue()) {
      e.events.OnRaised(e.now, event, &e.out);
    }
    FollowStops(e);
    FollowLocalHolds(e);
    FollowHolds(e);
    if (e.forwarding.has_due()) e.forwarding.SendDue(e.now, &e.out);
    const JobChanges changes = e.jobs.TakeChanges();
    const std::vector<DataChange> data = e.modex.TakeChanged();
    RequestMaps(e);
    Apply(e, changes);
    for (const DataChange& change : data) e.gets.OnData(e.now, change, &e.out);
  }
}

void RaiseForAll(Engines& e, const std::vector<EventRaised>& raised) {
  for (const EventRaised& event : raised) {
    e.events.RaiseForAll(e.now, event, &e.out);
  }
}

// The event is persisted first: a successor that reads the record of the leave
// raises the event.
void Leave(Engines& e, const Group& group, const ProcId& proc) {
  // kept, because a group of a single member ends here
  const std::string name = group.name;
  const uint64_t made = group.record.made;
  const Job* job = e.jobs.Find(proc.nspace);
  if (job != nullptr && job->is_local(proc.rank)) {
    const EventRaised left = MemberLeft(group, proc, e.jobs);
    if (!left.targets.empty()) e.events.RaiseForAll(e.now, left, &e.out);
  }
  e.collectives.OnLeft(e.now, proc, name, made, &e.out);
}

}  // namespace canopy::core
