#include "server/core/event/events.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/seek_info.h"
#include "common/status.h"
#include "server/core/event/event_records.h"

namespace canopy::core {
namespace {

constexpr char kAffectedProc[] = "pmix.evproc";
constexpr char kExitCode[] = "pmix.exit.code";
constexpr char kNonDefault[] = "pmix.evnondef";
constexpr char kDoNotCache[] = "pmix.evnocache";

bool StaysHere(uint8_t range) {
  const auto r = static_cast<EventRange>(range);
  return r == EventRange::kLocal || r == EventRange::kProcLocal ||
         r == EventRange::kRm;
}

// True when the event's info asks not to keep it.
bool MustNotBeKept(const Bytes& info) {
  Decoder decoder(info.view());
  uint16_t type = 0;
  if (!SeekInfo(kDoNotCache, &decoder) || !decoder.GetUint16(&type)) {
    return false;
  }
  // As a flag without a value it means yes.
  bool value = true;
  return type != PMIX_BOOL || (decoder.GetBool(&value) && value);
}

// Whether that process raised it itself: its library has called its handlers.
bool RaisedBy(const ProcId& proc, const EventMessage& message) {
  return message.request != 0 && (message.request & kAgentsEvent) == 0 &&
         message.source == proc;
}

}  // namespace

Bytes AffectedProcInfo(const ProcId& proc, const int* exit_code,
                       bool non_default) {
  Encoder encoder;
  encoder.PutSize(1u + (exit_code == nullptr ? 0 : 1) + (non_default ? 1 : 0));
  encoder.PutString(kAffectedProc);
  encoder.PutUint32(0);
  encoder.PutUint16(PMIX_PROC);
  encoder.PutProc(proc);
  if (exit_code != nullptr) {
    encoder.PutString(kExitCode);
    encoder.PutUint32(0);
    encoder.PutUint16(PMIX_INT);
    encoder.PutInt(*exit_code);
  }
  if (non_default) {
    encoder.PutString(kNonDefault);
    encoder.PutUint32(0);
    encoder.PutUint16(PMIX_BOOL);
    encoder.PutBool(true);
  }
  return Bytes(encoder.Take());
}

Events::Events(NodeId self, const Tree& tree, const JobTable& jobs)
    : self_(self), tree_(tree), jobs_(jobs) {
  const std::vector<NodeId> near = Neighbours();
  neighbours_.insert(near.begin(), near.end());
}

std::vector<NodeId> Events::Neighbours() const {
  std::vector<NodeId> out = tree_.children(self_);
  const NodeId parent = tree_.parent(self_);
  if (parent != kNoNode) out.push_back(parent);
  return out;
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
  wanted.codes.insert(in.codes.begin(), in.codes.end());
  actions->push_back(ReplyClient{in.client, in.request, kSuccess, {}});
  for (CachedEvent& event : cache_.events()) {
    DeliverTo(in.client, &event, actions);
  }
}

void Events::OnUnwanted(const EventsUnwanted& in) {
  const auto it = wanted_.find(in.client);
  if (it == wanted_.end()) return;
  if (in.all) it->second.all = false;
  for (const int code : in.codes) it->second.codes.erase(code);
}

// The source that a client claims is ignored, and it makes no numbers of
// agents.
EventMessage Events::MakeMessage(TimeNs now, const EventRaised& in) {
  // Above those of an earlier life of this agent, so that none looks old.
  last_number_ = std::max(last_number_ + 1, static_cast<uint64_t>(now));
  EventMessage message;
  message.origin = self_;
  message.number = last_number_;
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
  const auto custom = static_cast<uint8_t>(EventRange::kCustom);
  if (in.range == custom && in.targets.empty()) return kErrBadParam;
  const bool fits =
      in.info.size() <= kMaxEventInfo && in.targets.size() <= kMaxEventTargets;
  return fits ? kSuccess : kErrOutOfResource;
}

void Events::Distribute(EventMessage message, ClientId raised_by, bool persist,
                        Actions* actions) {
  if (!IsNew(message)) return;
  const bool keep = !MustNotBeKept(message.info);
  if (persist && keep) Persist(message, actions);
  if (!StaysHere(message.range)) Flood(message, kNoNode, actions);
  Deliver({std::move(message), raised_by, {}, false}, keep, actions);
}

// Before anything else is done with it, so that none of it is done in vain.
void Events::Persist(const EventMessage& message, Actions* actions) {
  const std::string& nspace = message.source.nspace;
  if (!persists_ || jobs_.Find(nspace) == nullptr) return;
  actions->push_back(EncodeEvent(message, persisted_[nspace]++));
}

void Events::Recover(const std::string& nspace, const PersistedRecord& record,
                     Actions* actions) {
  std::optional<EventRecord> read = DecodeEvent(record);
  if (!read || read->event.source.nspace != nspace) return;
  uint64_t& count = persisted_[nspace];
  count = std::max(count, read->count + 1);
  last_number_ = std::max(last_number_, read->event.number);
  if (!IsNew(read->event)) return;
  if (!StaysHere(read->event.range)) Flood(read->event, kNoNode, actions);
  Deliver({std::move(read->event), 0, {}, false}, true, actions);
}

void Events::OnKnownEverywhere(TimeNs now, const EventRaised& in,
                               Actions* actions) {
  Deliver({MakeMessage(now, in), 0, {}, true}, true, actions);
}

bool Events::OnMessage(NodeId src, const EventMessage& message,
                       Actions* actions) {
  if (StaysHere(message.range) || !IsNew(message)) return false;
  Flood(message, src, actions);
  Deliver({message, 0, {}, false}, !MustNotBeKept(message.info), actions);
  return true;
}

bool Events::IsNew(const EventMessage& message) {
  const EventId id = IdOf(message);
  // What is kept may be sent again long after others have passed.
  return !cache_.Knows(id) && recent_.Note(id);
}

void Events::Flood(const EventMessage& message, NodeId except,
                   Actions* actions) const {
  for (const NodeId to : Neighbours()) {
    if (to == except || to == message.origin) continue;
    actions->push_back(SendPeer{PeerMessage{self_, to, message}});
  }
}

bool Events::MaySee(const ProcId& receiver, const EventMessage& message) const {
  switch (static_cast<EventRange>(message.range)) {
    case EventRange::kRm:
      return false;
    case EventRange::kProcLocal:
      return receiver == message.source;
    case EventRange::kNamespace:
      return receiver.nspace == message.source.nspace;
    case EventRange::kCustom:
      return std::any_of(message.targets.begin(), message.targets.end(),
                         [&](const ProcId& target) {
                           return target.nspace == receiver.nspace &&
                                  (target.rank == kRankWildcard ||
                                   target.rank == receiver.rank);
                         });
    case EventRange::kSession: {
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
  if (proc == nullptr || client == event->raised_by ||
      RaisedBy(*proc, message) || !wanted->second.Has(message.status) ||
      !MaySee(*proc, message)) {
    return;
  }
  event->delivered.insert(client);
  actions->push_back(NotifyClient{client, IdOf(message), message.status,
                                  message.source, message.range, message.info});
}

void Events::Deliver(CachedEvent event, bool keep, Actions* actions) {
  if (observer_) observer_(event.message);
  for (const auto& [client, wanted] : wanted_) {
    DeliverTo(client, &event, actions);
  }
  if (keep) cache_.Add(std::move(event));
}

void Events::OnClientGone(ClientId client) {
  wanted_.erase(client);
  cache_.OnClientGone(client);
}

// Events of a job's processes are dropped with the job.
void Events::OnJobRemoved(const std::string& nspace) {
  cache_.Drop(nspace);
  persisted_.erase(nspace);
  std::erase_if(wanted_, [&](const auto& item) {
    return jobs_.ProcOf(item.first) == nullptr;
  });
}

void Events::OnTreeChanged(Actions* actions) {
  std::set<NodeId> now;
  for (const NodeId node : Neighbours()) {
    now.insert(node);
    if (!neighbours_.contains(node)) SendCached(node, true, actions);
  }
  neighbours_ = std::move(now);
}

void Events::OnNodeRestarted(NodeId node, Actions* actions) {
  if (neighbours_.contains(node)) SendCached(node, false, actions);
}

// `has_own`: the agent still has those that began with it.
void Events::SendCached(NodeId to, bool has_own, Actions* actions) const {
  for (const CachedEvent& event : cache_.events()) {
    if (event.stays_here || StaysHere(event.message.range) ||
        (has_own && event.message.origin == to)) {
      continue;
    }
    actions->push_back(SendPeer{PeerMessage{self_, to, event.message}});
  }
}

}  // namespace canopy::core
