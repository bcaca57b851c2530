#include "server/control/placements.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "server/control/placement_request.h"

namespace canopy::control {
namespace {

// The pause after the first unusable grant; the pause after each further one is
// four times as long. The scheduler may need that time to notice that a node is
// lost.
constexpr int64_t kFirstPauseNs = 250'000'000;
constexpr int64_t kSilenceNs = 1'000'000'000;

}  // namespace

Placements::~Placements() {
  for (const auto& [request, entry] : waiting_) CancelTimers(entry);
}

void Placements::CancelTimers(const Entry& entry) {
  for (const auto timer : {entry.timer, entry.pause, entry.silence}) {
    if (timer != 0) loop_->CancelTimer(timer);
  }
}

void Placements::set_port(PlacementPort* port) {
  port_ = port;
  port_->set_listener(this);
}

Placements::Entry* Placements::Add(QueuedJob job, Decided decided) {
  loop_->AssertOnThread();
  const std::string name = job.request.id.request;
  const auto [it, added] = waiting_.try_emplace(name);
  if (!added) return nullptr;
  Entry& entry = it->second;
  entry.job = std::move(job);
  entry.decided = std::move(decided);
  const int64_t give_up = entry.job.request.give_up;
  if (give_up == 0) return &entry;
  const int64_t left = give_up - EventLoop::Now();
  entry.timer = loop_->AddTimer(std::max<int64_t>(left, 0), [this, name] {
    Cancel(name, Status(kErrTimeout,
                        "its time to start ran out while it was queued"));
  });
  return &entry;
}

bool Placements::Ask(QueuedJob job, Decided decided) {
  const PlacementId id = job.request.id;
  if (Add(std::move(job), std::move(decided)) == nullptr) return false;
  Request(id);
  return true;
}

void Placements::Request(const PlacementId& id) {
  Entry* const entry = Find(id);
  entry->silence = loop_->AddTimer(kSilenceNs, [this, id] {
    Entry* const silent = Find(id);
    silent->silence = 0;
    OnQueued(id, {"the scheduler has not answered yet",
                  silent->job.request.since_ms});
  });
  const PlacementRequest request = entry->job.request;
  port_->Place(request);
}

void Placements::AskAgain(QueuedJob job, const Status& why, Decided decided) {
  const PlacementId id = job.request.id;
  const int64_t pause = kFirstPauseNs << (2 * (job.unusable_grants - 1));
  Entry* const entry = Add(std::move(job), std::move(decided));
  if (entry == nullptr) return;
  entry->pause = loop_->AddTimer(pause, [this, id] {
    Entry* const due = Find(id);
    due->pause = 0;
    Request(id);
  });
  OnQueued(id, {why.message() + "; it asks for other nodes",
                entry->job.request.since_ms});
}

bool Placements::Cancel(const std::string& request, const Status& why) {
  loop_->AssertOnThread();
  const auto it = waiting_.find(request);
  if (it == waiting_.end()) return false;
  const PlacementId id = it->second.job.request.id;
  if (it->second.pause == 0) port_->Cancel(id);
  Decide(id, why);
  return true;
}

void Placements::CancelIf(const std::function<bool(const QueuedJob&)>& matches,
                          const Status& why) {
  std::vector<std::string> names;
  for (const auto& [request, entry] : waiting_) {
    if (matches(entry.job)) names.push_back(request);
  }
  for (const std::string& name : names) Cancel(name, why);
}

void Placements::CancelOfLauncher(uint64_t launcher, const Status& why) {
  CancelIf([&](const QueuedJob& job) { return job.launcher == launcher; }, why);
}

void Placements::CancelOfParent(const std::string& nspace, const Status& why) {
  CancelIf([&](const QueuedJob& job) { return job.request.parent == nspace; },
           why);
}

void Placements::CancelAll(const Status& why) {
  CancelIf([](const QueuedJob&) { return true; }, why);
}

bool Placements::WaitingFor(uint64_t launcher) const {
  return std::ranges::any_of(waiting_, [&](const auto& entry) {
    return entry.second.job.launcher == launcher;
  });
}

void Placements::ForEach(
    const std::function<void(const QueuedJob&)>& visit) const {
  for (const auto& [request, entry] : waiting_) visit(entry.job);
}

Placements::Entry* Placements::Find(const PlacementId& id) {
  const auto it = waiting_.find(id.request);
  return it == waiting_.end() || it->second.job.request.id != id ? nullptr
                                                                 : &it->second;
}

void Placements::Launched(const JobRecord& record, bool recovered) {
  if (!record.facts.placed.any()) return;
  port_->Launched(PlacedJobOf(record), recovered);
}

void Placements::Changed(const JobRecord& record,
                         const core::JobChanged& change) {
  if (!record.facts.placed.any()) return;
  port_->Changed(change.nspace, change.phase, change.procs_ended);
}

void Placements::Suspended(const JobRecord& record) {
  port_->Suspended(record.job->nspace, record.facts.suspended);
}

void Placements::Released(const JobRecord& record, const core::JobChanged& end,
                          bool last) {
  if (!record.facts.placed.any()) return;
  port_->Released(PlacedJobOf(record), {end.exit_code, end.status, end.text,
                                        WallClockMs(), last, end.used});
}

void Placements::ReleaseUnused(const Placed& placed,
                               const PlacementRequest& request,
                               const Status& why) {
  if (placed.grant.nodes.empty()) return;
  port_->Released(PlacedJobOf(placed, request),
                  {1, why.code(), why.message(), WallClockMs(), true});
}

void Placements::OnQueued(const PlacementId& id,
                          const PlacementQueued& queued) {
  Entry* const entry = Find(id);
  if (entry == nullptr) return;
  if (entry->silence != 0) loop_->CancelTimer(std::exchange(entry->silence, 0));
  entry->job.state = queued;
  if (entry->job.state.since_ms == 0) {
    entry->job.state.since_ms = entry->job.request.since_ms;
  }
  waits_(&entry->job);
}

void Placements::OnGranted(const PlacementId& id, const PlacementGrant& grant) {
  Entry* const entry = Find(id);
  if (entry == nullptr) return;
  Decide(id, Placed{id, grant, entry->job.request.since_ms,
                    entry->job.request.give_up});
}

void Placements::OnRefused(const PlacementId& id, const Status& why) {
  Decide(id, why);
}

void Placements::Decide(const PlacementId& id, const Result<Placed>& placed) {
  if (Find(id) == nullptr) return;
  Entry entry = std::move(waiting_.extract(id.request).mapped());
  CancelTimers(entry);
  entry.decided(placed);
}

}  // namespace canopy::control
