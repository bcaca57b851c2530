#include "server/core/event/events.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/status.h"
#include "server/core/event/lifecycle.h"
#include "server/core/named_procs.h"

namespace canopy::core {
namespace {

std::shared_ptr<const ClientEvent> ForClients(const EventMessage& message) {
  return std::make_shared<const ClientEvent>(
      ClientEvent{IdOf(message), message.status, message.source, message.range,
                  message.info});
}

bool StaysHere(uint8_t range) {
  const auto r = static_cast<DataRange>(range);
  return r == DataRange::kLocal || r == DataRange::kProcLocal ||
         r == DataRange::kRm;
}

// Returns false for a debugger's release without targets, which frees the
// processes that wait now. If the release were kept, it would also free
// processes of later jobs.
bool MayBeKept(const EventMessage& message) {
  const auto range = static_cast<DataRange>(message.range);
  const bool frees_all = message.status == kDebuggerRelease &&
                         range != DataRange::kCustom &&
                         range != DataRange::kNamespace;
  return !frees_all && !HasFlag(message.info, kDoNotCacheKey);
}

// Returns true for events about whole jobs, and for a release with targets,
// because some targets may reach their breakpoint only after the debugger's job
// is over.
bool OutlivesJob(const EventMessage& message) {
  const bool frees = message.status == kDebuggerRelease &&
                     message.range == static_cast<uint8_t>(DataRange::kCustom);
  return frees || IsOfWholeJob(message);
}

// Returns true if that process raised the event itself. In this case the
// library of the process has already called its handlers.
bool RaisedBy(const ProcId& proc, const EventMessage& message) {
  return message.request != 0 && (message.request & kAgentsEvent) == 0 &&
         message.source == proc;
}

}  // namespace

Events::Events(NodeId self, const Tree& tree, const JobTable& jobs)
    : self_(self), tree_(tree), jobs_(jobs), routed_(self, tree) {
  const std::vector<NodeId> near = Neighbours();
  neighbours_.insert(near.begin(), near.end());
}

void Events::OnWanted(const StepContext& step, const EventsWanted& in) {
  if (jobs_.ProcOf(in.client) == nullptr) {
    step.out.push_back(ReplyClient{in.client, in.request, kErrInit, {}});
    return;
  }
  Wanted& wanted = wanted_[in.client];
  if (wanted.codes.size() + in.codes.size() > kMaxEventCodes) {
    step.out.push_back(
        ReplyClient{in.client, in.request, kErrOutOfResource, {}});
    return;
  }
  wanted.all |= in.all;
  for (const int code : in.codes) {
    if (wanted.codes.insert(code).second) routed_.interest().Add(code);
  }
  step.out.push_back(ReplyClient{in.client, in.request, kSuccess, {}});
  DeliverKept(step, in.client);
  TellInterest(step);
}

// Delivers the kept events of both caches in the order of arrival.
void Events::DeliverKept(const StepContext& step, ClientId client) {
  auto here = routed_.events().begin();
  for (CachedEvent& event : cache_.events()) {
    while (here != routed_.events().end() && here->arrival < event.arrival) {
      DeliverTo(step, client, &*here++);
    }
    DeliverTo(step, client, &event);
  }
  while (here != routed_.events().end()) DeliverTo(step, client, &*here++);
}

void Events::OnUnwanted(const StepContext& step, const EventsUnwanted& in) {
  const auto it = wanted_.find(in.client);
  if (it == wanted_.end()) return;
  if (in.all) it->second.all = false;
  for (const int code : in.codes) {
    if (it->second.codes.erase(code) > 0) routed_.interest().Remove(code);
  }
  TellInterest(step);
}

void Events::DropWanted(ClientId client) {
  const auto wanted = wanted_.extract(client);
  if (!wanted) return;
  for (const int code : wanted.mapped().codes) routed_.interest().Remove(code);
}

void Events::TellInterest(const StepContext& step) {
  routed_.Tell(step, NextNumber(0));
}

// Numbers start above those of the agent's predecessor, so that no event is
// taken for an old one.
uint64_t Events::NextNumber(TimeNs now) {
  return last_number_ = std::max(last_number_ + 1, static_cast<uint64_t>(now));
}

// Makes the message of an event. A client cannot choose the source of the
// event, and the number that a client gives is never taken for a number that an
// agent has made.
EventMessage Events::MakeMessage(TimeNs now, const EventRaised& in) {
  EventMessage message;
  message.origin = self_;
  message.number = NextNumber(now);
  message.request = in.client == 0 ? in.id : in.id & ~kAgentsEvent;
  message.status = in.status;
  message.source = in.client == 0 ? in.source : *jobs_.ProcOf(in.client);
  message.range = in.range;
  message.targets = in.targets;
  message.info = in.info;
  if (in.client == 0) {
    message.user = in.user;
  } else if (const auto owner = jobs_.OwnerOf(message.source)) {
    message.user = uint64_t{owner->uid} + 1;
  }
  return message;
}

void Events::OnRaised(const StepContext& step, const EventRaised& in) {
  const int status = in.client == 0 ? kSuccess : Check(in);
  if (status == kSuccess) {
    Distribute(step, MakeMessage(step.now, in), in.client, in.client != 0);
  }
  if (in.client != 0) {
    step.out.push_back(ReplyClient{in.client, in.request, status, {}});
  }
}

void Events::RaiseForAll(const StepContext& step, const EventRaised& in) {
  EventMessage message = MakeMessage(step.now, in);
  const Job* job = jobs_.Find(message.source.nspace);
  const bool persist = job != nullptr && job->is_local(message.source.rank);
  Distribute(step, std::move(message), 0, persist);
}

int Events::Check(const EventRaised& in) const {
  if (jobs_.ProcOf(in.client) == nullptr) return kErrInit;
  const auto custom = static_cast<uint8_t>(DataRange::kCustom);
  if (in.range == custom && in.targets.empty()) return kErrBadParam;
  const bool fits =
      in.info.size() <= kMaxEventInfo && in.targets.size() <= kMaxEventTargets;
  return fits ? kSuccess : kErrOutOfResource;
}

void Events::Distribute(const StepContext& step, EventMessage message,
                        ClientId raised_by, bool persist) {
  if (IsForItsCodeAlone(message)) {
    return Route(step, std::move(message), kNoNode);
  }
  if (!IsNew(message)) return;
  journal_.OnEvent(step);
  const bool keep = MayBeKept(message);
  if (persist && keep && jobs_.Find(message.source.nspace) != nullptr) {
    journal_.Persist(step, message);
  }
  if (!StaysHere(message.range)) Flood(step, message, kNoNode);
  Deliver(step, {std::move(message), raised_by, {}, false}, keep);
}

void Events::OnJobRecovered(const StepContext& step, const JobRecovered& in) {
  for (const PersistedRecord& record : in.records) {
    Recover(step, in.job->nspace, record);
  }
}

void Events::Recover(const StepContext& step, const std::string& nspace,
                     const PersistedRecord& record) {
  std::optional<EventMessage> event = journal_.Recover(step, nspace, record);
  if (!event) return;
  last_number_ = std::max(last_number_, event->number);
  if (!IsNew(*event)) return;
  if (!StaysHere(event->range)) Flood(step, *event, kNoNode);
  Deliver(step, {*std::move(event)}, true);
}

void Events::OnKnownEverywhere(const StepContext& step, const EventRaised& in) {
  CachedEvent event{MakeMessage(step.now, in)};
  event.known_everywhere = true;
  event.stays_here = in.id == 0;
  if (in.id != 0 && !IsNew(event.message)) return;
  journal_.OnEvent(step);
  event.by_code = IsForItsCodeAlone(event.message);
  Deliver(step, std::move(event), true);
}

bool Events::OnMessage(const StepContext& step, NodeId src,
                       const EventMessage& message) {
  if (Interest::IsEncoded(message)) {
    routed_.OnInterest(step, src, message);
    TellInterest(step);
    return false;
  }
  if (IsForItsCodeAlone(message) && !IsLoss(message)) {
    Route(step, message, src);
    return false;
  }
  if (StaysHere(message.range) || !IsNew(message)) return false;
  journal_.OnEvent(step);
  CachedEvent event{message};
  if (IsLoss(message)) {
    event.known_everywhere = true;
    event.by_code = IsForItsCodeAlone(message);
  } else {
    Flood(step, message, src);
  }
  Deliver(step, std::move(event), MayBeKept(message));
  return true;
}

void Events::Route(const StepContext& step, EventMessage message, NodeId from) {
  CachedEvent event{std::move(message)};
  event.by_code = true;
  event.outlives_job = OutlivesJob(event.message);
  event.arrival = ++arrivals_;
  CachedEvent* const kept = routed_.Take(step, std::move(event), from);
  if (kept == nullptr) return;
  journal_.OnEvent(step);
  if (observer_) observer_(kept->message);
  DeliverToAll(step, kept);
}

bool Events::IsNew(const EventMessage& message) {
  const EventId id = IdOf(message);
  // There are two sets, so that events which only some agents see do not evict
  // events which all agents see.
  RecentEvents& recent =
      StaysHere(message.range) || IsLoss(message) ? recent_others_ : recent_;
  // A kept event may be sent again after its identity has left the set.
  return !cache_.Knows(id) && recent.Note(id);
}

void Events::Flood(const StepContext& step, const EventMessage& message,
                   NodeId except) const {
  for (const NodeId to : Neighbours()) {
    if (to == except || to == message.origin) continue;
    step.out.push_back(SendPeer{PeerMessage{self_, to, message}});
  }
}

// Returns true if the event is of another user's process and not for this
// receiver, because an event may make its receiver end. Jobs that took part in
// one operation get each other's events, and tools that may see all jobs get
// the events of all users. Events of root's processes are for every receiver,
// because root could end the receiver anyway.
bool Events::IsOfOtherUser(const ProcId& receiver,
                           const EventMessage& message) const {
  constexpr uint64_t kRoot = 1;
  if (message.user == 0 || message.user == kRoot) return false;
  const std::optional<uint32_t> user = jobs_.UserSeenBy(receiver);
  return user && uint64_t{*user} + 1 != message.user &&
         !jobs_.HaveMet(receiver.nspace, message.source.nspace);
}

bool Events::MaySee(const ProcId& receiver, const EventMessage& message) const {
  if (IsOfOtherUser(receiver, message)) return false;
  switch (static_cast<DataRange>(message.range)) {
    case DataRange::kRm:
      return false;
    case DataRange::kProcLocal:
      return receiver == message.source;
    case DataRange::kNamespace:
      return receiver.nspace == message.source.nspace;
    case DataRange::kCustom:
      return Names(message.targets, receiver);
    case DataRange::kSession: {
      const bool by_agent = (message.request & kAgentsEvent) != 0;
      if (by_agent && Names(message.targets, receiver)) return false;
      const Job* from = jobs_.Find(message.source.nspace);
      const Job* to = jobs_.Find(receiver.nspace);
      return from == nullptr || to == nullptr ||
             from->spec->session_id == to->spec->session_id;
    }
    default:
      return true;
  }
}

void Events::DeliverTo(const StepContext& step, ClientId client,
                       CachedEvent* event) const {
  const auto wanted = wanted_.find(client);
  if (wanted == wanted_.end() || event->delivered.contains(client)) return;
  const EventMessage& message = event->message;
  const ProcId* proc = jobs_.ProcOf(client);
  if (event->job_over && !returned_.contains(client)) return;
  if (proc == nullptr || client == event->raised_by ||
      RaisedBy(*proc, message) ||
      !wanted->second.Has(message.status, event->by_code) ||
      !MaySee(*proc, message)) {
    return;
  }
  event->delivered.insert(client);
  if (event->for_clients == nullptr) event->for_clients = ForClients(message);
  step.out.push_back(NotifyClient{client, event->for_clients});
}

void Events::DeliverToAll(const StepContext& step, CachedEvent* event) const {
  for (const auto& [client, wanted] : wanted_) {
    DeliverTo(step, client, event);
  }
}

void Events::Deliver(const StepContext& step, CachedEvent event, bool keep) {
  if (observer_) observer_(event.message);
  event.outlives_job = OutlivesJob(event.message);
  event.arrival = ++arrivals_;
  DeliverToAll(step, &event);
  if (keep) cache_.Add(std::move(event));
}

void Events::OnClientGone(const StepContext& step, ClientId client) {
  DropWanted(client);
  returned_.erase(client);
  cache_.OnClientGone(client);
  routed_.OnClientGone(client);
  TellInterest(step);
}

// Clients that register after the end of the job get no events of its
// processes.
void Events::OnJobRemoved(const StepContext& step, const RemovedJob& job) {
  const std::string& nspace = job.nspace;
  cache_.OnJobOver(nspace);
  routed_.OnJobRemoved(nspace);
  journal_.OnJobRemoved(nspace);
  std::vector<ClientId> gone;
  for (const auto& [client, wanted] : wanted_) {
    if (jobs_.ProcOf(client) == nullptr) gone.push_back(client);
  }
  for (const ClientId client : gone) DropWanted(client);
  std::erase_if(returned_, [&](ClientId client) {
    return jobs_.ProcOf(client) == nullptr;
  });
  TellInterest(step);
}

void Events::OnTreeChanged(const StepContext& step) {
  std::set<NodeId> now;
  for (const NodeId node : Neighbours()) {
    now.insert(node);
    if (!neighbours_.contains(node)) SendCached(step, node, true);
  }
  neighbours_ = std::move(now);
  routed_.OnTreeChanged(step);
  TellInterest(step);
}

void Events::OnNodeRestarted(const StepContext& step, NodeId node) {
  if (neighbours_.contains(node)) SendCached(step, node, false);
  routed_.OnNodeRestarted(node);
  TellInterest(step);
}

// Sends the cached events to a neighbour. `has_own` is true if the neighbour
// still has the events that it raised itself.
void Events::SendCached(const StepContext& step, NodeId to,
                        bool has_own) const {
  for (const CachedEvent& event : cache_.events()) {
    if (event.stays_here || StaysHere(event.message.range) ||
        (has_own && (event.known_everywhere || event.message.origin == to))) {
      continue;
    }
    step.out.push_back(SendPeer{PeerMessage{self_, to, event.message}});
  }
}

}  // namespace canopy::core
