// Events that processes raise. Every process that has registered, before the
// event or later, must be notified once, and waits until it is.
#include <algorithm>
#include <string>

#include "tests/sim/soak_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr char kRegister[] = "registration for events";
constexpr char kRaise[] = "event ";

// Ranges, with the values of pmix_data_range_t.
constexpr uint8_t kLocal = 2;
constexpr uint8_t kNamespace = 3;
constexpr uint8_t kCustom = 6;

}  // namespace

// Registers the process: every second process for all events, the others for
// the events of their job.
void Soak::Register(const ProcId& proc, Actor& actor) {
  std::vector<int> codes;
  for (const auto& [status, event] : events_) {
    const bool own = event.source.nspace == proc.nspace;
    if (proc.rank % 2 != 0 && own) codes.push_back(status);
  }
  actor.registered = true;
  actor.operation = kRegister;
  actor.waiting = cluster_.clients().WantEvents(proc, std::move(codes));
}

void Soak::BeginEvent(const ProcId& proc, Actor& actor, const Op& op) {
  if (!actor.registered) return Register(proc, actor);
  size_t job = 0;
  while (jobs_[job].get() != actor.job) ++job;
  const int own = StatusOfEvent(job, op.number, proc.rank);
  const auto event = events_.find(own);
  if (proc.rank < kActive && event != events_.end() && !event->second.begun) {
    event->second.begun = true;
    actor.operation = kRaise + std::to_string(own);
    actor.waiting = cluster_.clients().Raise(proc, own, event->second.range,
                                             event->second.targets);
    return;
  }
  for (job = 0; job < jobs_.size(); ++job) {
    for (Rank rank = 0; rank < kActive; ++rank) {
      const int status = StatusOfEvent(job, op.number, rank);
      const auto other = events_.find(status);
      if (other == events_.end() || other->second.source == proc ||
          actor.excused.contains(status) || !MaySee(proc, other->second) ||
          !OfOneUser(proc, other->second.source)) {
        continue;
      }
      actor.awaited.insert(status);
    }
  }
}

// Returns whether both processes belong to the same user. Otherwise the event
// arrives only if the receiver's agent knows that the two jobs have taken part
// in one operation, and the faults decide when it knows that.
bool Soak::OfOneUser(const ProcId& a, const ProcId& b) const {
  const auto user = [this](const std::string& nspace) {
    const auto job = std::ranges::find_if(
        jobs_, [&](const auto& one) { return one->spec.nspace == nspace; });
    return job == jobs_.end() ? 0 : (*job)->spec.uid;
  };
  return user(a.nspace) == user(b.nspace);
}

bool Soak::MaySee(const ProcId& proc, const PlannedEvent& event) const {
  const ProcId everybody = {proc.nspace, kRankWildcard};
  const bool wanted = proc.rank % 2 == 0 || event.source.nspace == proc.nspace;
  switch (event.range) {
    case kLocal:
      return wanted && cluster_.NodeOf(proc) == cluster_.NodeOf(event.source);
    case kNamespace:
      return wanted && proc.nspace == event.source.nspace;
    case kCustom:
      return wanted && (std::ranges::count(event.targets, proc) > 0 ||
                        std::ranges::count(event.targets, everybody) > 0);
    default:
      return wanted;
  }
}

// Records an answer. The events of a job are dropped at its end, so a process
// that registers later is not notified.
void Soak::NoteAnswer(const ProcId& proc, Actor& actor, int status) {
  NoteGroupAnswer(actor, status);
  NoteSetAnswer(actor, status);
  NoteNameAnswer(actor, status);
  if (actor.operation == kRegister) {
    for (const auto& [status, event] : events_) {
      const std::string& nspace = event.source.nspace;
      const auto job = std::ranges::find_if(
          jobs_, [&](const auto& one) { return one->spec.nspace == nspace; });
      if (IsOver(**job)) actor.excused.insert(status);
    }
  } else if (actor.operation.starts_with(kRaise)) {
    for (auto& [status, event] : events_) {
      if (event.source == proc && event.begun) event.raised = true;
    }
  }
}

void Soak::OnNotice(const ProcId& proc, int status, const ProcId& source,
                    const Bytes& info) {
  if (with_invitations_) OnInvitationNotice(proc, status, source, info);
  if (with_sets_) OnSetNotice(proc, source, info);
  const auto it = events_.find(status);
  if (it == events_.end()) return;
  PlannedEvent& event = it->second;
  const std::string what = ToString(proc) + " is told of event " +
                           std::to_string(status) + " of " + ToString(source);
  if (++event.told[proc] > 1) Error(what + " again");
  if (source != event.source || !event.begun) Error(what + ", an invented one");
  if (source == proc || !MaySee(proc, event)) Error(what + ", not for it");
  ready_.push_back(proc);
}

bool Soak::AwaitsEvents(const ProcId& proc, Actor& actor) const {
  std::erase_if(actor.awaited, [&](int status) {
    const PlannedEvent& event = events_.at(status);
    const bool comes = event.raised || actors_.contains(event.source);
    return event.told.contains(proc) || !comes;
  });
  return !actor.awaited.empty();
}

// Events of jobs that a fault has hit need not arrive.
bool Soak::WakeEventWaiters() {
  bool any = false;
  for (auto& [proc, actor] : actors_) {
    if (actor.awaited.empty() || actor.stopped) continue;
    if (IsHarmed(*actor.job)) actor.awaited.clear();
    if (AwaitsEvents(proc, actor)) continue;
    ready_.push_back(proc);
    any = true;
  }
  return any;
}

}  // namespace canopy::sim
