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

// A debugger's release without targets frees the processes that wait now. If
// the release were kept, it would also free processes of later jobs.
bool MayBeKept(const EventMessage& message) {
  const auto range = static_cast<DataRange>(message.range);
  const bool frees_all = message.status == kDebuggerRelease &&
                         range != DataRange::kCustom &&
                         range != DataRange::kNamespace;
  return !frees_all && !HasFlag(message.info, kDoNotCacheKey);
}

// A release with targets stays after the debugger's job is over: some targets
// may reach their breakpoint only then.
bool OutlivesJob(const EventMessage& message) {
  const bool frees = message.status == kDebuggerRelease &&
                     message.range == static_cast<uint8_t>(DataRange::kCustom);
  return frees || IsOfWholeJob(message);
}

// Returns true if that process raised the event itself; its library has called
// its handlers already.
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

void Events::OnWanted(const EventsWanted& in, Actions* actions) {
  if (jobs_.ProcOf(in.client) == nullptr) {
    actions->push_back(ReplyClient{in.client, in.request, kErrInit, {}});
    return;
  }
  Wanted& wanted = wanted_[in.client];
  if (wanted.codes.size() + in.codes.size() > kMaxEventCodes) {
    actions->push_back(
        ReplyClient{in.client, in.request, kErrOutOfResource, {}});
    return;
  }
  wanted.all |= in.all;
  for (const int code : in.codes) {
    if (wanted.codes.insert(code).second) routed_.interest().Add(code);
  }
  actions->push_back(ReplyClient{in.client, in.request, kSuccess, {}});
  DeliverKept(in.client, actions);
  TellInterest(actions);
}

// Delivers the kept events of both caches in the order of arrival.
void Events::DeliverKept(ClientId client, Actions* actions) {
  auto here = routed_.events().begin();
  for (CachedEvent& event : cache_.events()) {
    while (here != routed_.events().end() && here->arrival < event.arrival) {
      DeliverTo(client, &*here++, actions);
    }
    DeliverTo(client, &event, actions);
  }
  while (here != routed_.events().end()) DeliverTo(client, &*here++, actions);
}

void Events::OnUnwanted(const EventsUnwanted& in, Actions* actions) {
  const auto it = wanted_.find(in.client);
  if (it == wanted_.end()) return;
  if (in.all) it->second.all = false;
  for (const int code : in.codes) {
    if (it->second.codes.erase(code) > 0) routed_.interest().Remove(code);
  }
  TellInterest(actions);
}

void Events::DropWanted(ClientId client) {
  const auto wanted = wanted_.extract(client);
  if (!wanted) return;
  for (const int code : wanted.mapped().codes) routed_.interest().Remove(code);
}

void Events::TellInterest(Actions* actions) {
  routed_.Tell(NextNumber(0), actions);
}

// Numbers start above those of the agent's predecessor, so that no event is
// taken for an old one.
uint64_t Events::NextNumber(TimeNs now) {
  return last_number_ = std::max(last_number_ + 1, static_cast<uint64_t>(now));
}

// A client cannot choose the source of its event, and its number is never taken
// for a number that an agent has made.
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
  return message;
}

void Events::OnRaised(TimeNs now, const EventRaised& in, Actions* actions) {
  const int status = in.client == 0 ? kSuccess : Check(in);
  if (status == kSuccess) {
    Distribute(MakeMessage(now, in), in.client, in.client != 0, actions);
  }
  if (in.client != 0) {
    actions->push_back(ReplyClient{in.client, in.request, status, {}});
  }
}

void Events::RaiseForAll(TimeNs now, const EventRaised& in, Actions* actions) {
  EventMessage message = MakeMessage(now, in);
  const Job* job = jobs_.Find(message.source.nspace);
  const bool persist = job != nullptr && job->is_local(message.source.rank);
  Distribute(std::move(message), 0, persist, actions);
}

int Events::Check(const EventRaised& in) const {
  if (jobs_.ProcOf(in.client) == nullptr) return kErrInit;
  const auto custom = static_cast<uint8_t>(DataRange::kCustom);
  if (in.range == custom && in.targets.empty()) return kErrBadParam;
  const bool fits =
      in.info.size() <= kMaxEventInfo && in.targets.size() <= kMaxEventTargets;
  return fits ? kSuccess : kErrOutOfResource;
}

void Events::Distribute(EventMessage message, ClientId raised_by, bool persist,
                        Actions* actions) {
  if (IsForItsCodeAlone(message)) {
    return Route(std::move(message), kNoNode, actions);
  }
  if (!IsNew(message)) return;
  journal_.OnEvent(actions);
  const bool keep = MayBeKept(message);
  if (persist && keep && jobs_.Find(message.source.nspace) != nullptr) {
    journal_.Persist(message, actions);
  }
  if (!StaysHere(message.range)) Flood(message, kNoNode, actions);
  Deliver({std::move(message), raised_by, {}, false}, keep, actions);
}

void Events::OnJobRecovered(TimeNs, const JobRecovered& in, Actions* actions) {
  for (const PersistedRecord& record : in.records) {
    Recover(in.job->nspace, record, actions);
  }
}

void Events::Recover(const std::string& nspace, const PersistedRecord& record,
                     Actions* actions) {
  std::optional<EventMessage> event = journal_.Recover(nspace, record, actions);
  if (!event) return;
  last_number_ = std::max(last_number_, event->number);
  if (!IsNew(*event)) return;
  if (!StaysHere(event->range)) Flood(*event, kNoNode, actions);
  Deliver({*std::move(event)}, true, actions);
}

void Events::OnKnownEverywhere(TimeNs now, const EventRaised& in,
                               Actions* actions) {
  CachedEvent event{MakeMessage(now, in)};
  event.known_everywhere = true;
  event.stays_here = in.id == 0;
  if (in.id != 0 && !IsNew(event.message)) return;
  journal_.OnEvent(actions);
  event.by_code = IsForItsCodeAlone(event.message);
  Deliver(std::move(event), true, actions);
}

bool Events::OnMessage(NodeId src, const EventMessage& message,
                       Actions* actions) {
  if (Interest::IsEncoded(message)) {
    routed_.OnInterest(src, message, actions);
    TellInterest(actions);
    return false;
  }
  if (IsForItsCodeAlone(message) && !IsLoss(message)) {
    Route(message, src, actions);
    return false;
  }
  if (StaysHere(message.range) || !IsNew(message)) return false;
  journal_.OnEvent(actions);
  CachedEvent event{message};
  if (IsLoss(message)) {
    event.known_everywhere = true;
    event.by_code = IsForItsCodeAlone(message);
  } else {
    Flood(message, src, actions);
  }
  Deliver(std::move(event), MayBeKept(message), actions);
  return true;
}

void Events::Route(EventMessage message, NodeId from, Actions* actions) {
  CachedEvent event{std::move(message)};
  event.by_code = true;
  event.outlives_job = OutlivesJob(event.message);
  event.arrival = ++arrivals_;
  CachedEvent* const kept = routed_.Take(std::move(event), from, actions);
  if (kept == nullptr) return;
  journal_.OnEvent(actions);
  if (observer_) observer_(kept->message);
  DeliverToAll(kept, actions);
}

bool Events::IsNew(const EventMessage& message) {
  const EventId id = IdOf(message);
  // Two sets, so that events which only some agents see do not evict events
  // which all agents see.
  RecentEvents& recent =
      StaysHere(message.range) || IsLoss(message) ? recent_others_ : recent_;
  // A kept event may be sent again after its identity has left the set.
  return !cache_.Knows(id) && recent.Note(id);
}

void Events::Flood(const EventMessage& message, NodeId except,
                   Actions* actions) const {
  for (const NodeId to : Neighbours()) {
    if (to == except || to == message.origin) continue;
    actions->push_back(SendPeer{PeerMessage{self_, to, message}});
  }
}

bool Events::MaySee(const ProcId& receiver, const EventMessage& message) const {
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

void Events::DeliverTo(ClientId client, CachedEvent* event,
                       Actions* actions) const {
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
  actions->push_back(NotifyClient{client, event->for_clients});
}

void Events::DeliverToAll(CachedEvent* event, Actions* actions) const {
  for (const auto& [client, wanted] : wanted_) {
    DeliverTo(client, event, actions);
  }
}

void Events::Deliver(CachedEvent event, bool keep, Actions* actions) {
  if (observer_) observer_(event.message);
  event.outlives_job = OutlivesJob(event.message);
  event.arrival = ++arrivals_;
  DeliverToAll(&event, actions);
  if (keep) cache_.Add(std::move(event));
}

void Events::OnClientGone(TimeNs, ClientId client, Actions* actions) {
  DropWanted(client);
  returned_.erase(client);
  cache_.OnClientGone(client);
  routed_.OnClientGone(client);
  TellInterest(actions);
}

// Clients that register afterwards get no events of the job's processes.
void Events::OnJobRemoved(TimeNs, const RemovedJob& job, Actions* actions) {
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
  TellInterest(actions);
}

void Events::OnTreeChanged(TimeNs, Actions* actions) {
  std::set<NodeId> now;
  for (const NodeId node : Neighbours()) {
    now.insert(node);
    if (!neighbours_.contains(node)) SendCached(node, true, actions);
  }
  neighbours_ = std::move(now);
  routed_.OnTreeChanged(actions);
  TellInterest(actions);
}

void Events::OnNodeRestarted(TimeNs, NodeId node, Actions* actions) {
  if (neighbours_.contains(node)) SendCached(node, false, actions);
  routed_.OnNodeRestarted(node);
  TellInterest(actions);
}

// Sends the cached events to a neighbour. `has_own` is true if the neighbour
// still has the events that it raised itself.
void Events::SendCached(NodeId to, bool has_own, Actions* actions) const {
  for (const CachedEvent& event : cache_.events()) {
    if (event.stays_here || StaysHere(event.message.range) ||
        (has_own && (event.known_everywhere || event.message.origin == to))) {
      continue;
    }
    actions->push_back(SendPeer{PeerMessage{self_, to, event.message}});
  }
}

}  // namespace canopy::core
