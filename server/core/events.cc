#include "server/core/events.h"

#include <algorithm>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/status.h"

namespace canopy::core {
namespace {

constexpr size_t kSeenPerOrigin = 4096;

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
  size_t count = 0;
  if (info.empty() || !decoder.GetSize(&count)) return false;
  for (size_t i = 0; i < count; ++i) {
    std::string_view key;
    uint32_t flags = 0;
    uint16_t type = 0;
    if (!decoder.GetString(&key) || !decoder.GetUint32(&flags)) return false;
    if (key != kDoNotCache) {
      if (!decoder.SkipValue()) return false;
      continue;
    }
    // As a flag without a value it means yes.
    bool value = true;
    if (!decoder.GetUint16(&type)) return false;
    return type != PMIX_BOOL || (decoder.GetBool(&value) && value);
  }
  return false;
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
  for (Cached& event : cache_) DeliverTo(in.client, &event, actions);
}

void Events::OnUnwanted(const EventsUnwanted& in) {
  const auto it = wanted_.find(in.client);
  if (it == wanted_.end()) return;
  if (in.all) it->second.all = false;
  for (const int code : in.codes) it->second.codes.erase(code);
}

EventMessage Events::MakeMessage(TimeNs now, const EventRaised& in) {
  // Above those of an earlier life of this agent, so that none looks old.
  last_number_ = std::max(last_number_ + 1, static_cast<uint64_t>(now));
  IsNew(self_, last_number_);
  EventMessage message;
  message.origin = self_;
  message.number = last_number_;
  message.status = in.status;
  message.source = in.source;
  message.range = in.range;
  message.targets = in.targets;
  message.info = in.info;
  return message;
}

void Events::OnRaised(TimeNs now, const EventRaised& in, Actions* actions) {
  const ProcId* proc = jobs_.ProcOf(in.client);
  if (in.client != 0 && proc == nullptr) {
    actions->push_back(ReplyClient{in.client, in.request, kErrInit, {}});
    return;
  }
  const auto custom = static_cast<uint8_t>(EventRange::kCustom);
  if (in.client != 0 && in.range == custom && in.targets.empty()) {
    actions->push_back(ReplyClient{in.client, in.request, kErrBadParam, {}});
    return;
  }
  EventMessage message = MakeMessage(now, in);
  if (in.client != 0) message.source = *proc;  // the claimed source is ignored
  const bool keep = !MustNotBeKept(message.info);
  if (!StaysHere(message.range)) Flood(message, kNoNode, actions);
  Deliver(Cached{std::move(message), in.client, {}, false}, keep, actions);
  if (in.client != 0) {
    actions->push_back(ReplyClient{in.client, in.request, kSuccess, {}});
  }
}

void Events::OnKnownEverywhere(TimeNs now, const EventRaised& in,
                               Actions* actions) {
  Deliver(Cached{MakeMessage(now, in), 0, {}, true}, true, actions);
}

void Events::OnMessage(NodeId src, const EventMessage& message,
                       Actions* actions) {
  if (StaysHere(message.range) || !IsNew(message.origin, message.number)) {
    return;
  }
  Flood(message, src, actions);
  Deliver(Cached{message, 0, {}, false}, !MustNotBeKept(message.info), actions);
}

bool Events::IsNew(NodeId origin, uint64_t number) {
  std::set<uint64_t>& seen = seen_[origin];
  if (seen.size() >= kSeenPerOrigin && number < *seen.begin()) return false;
  if (!seen.insert(number).second) return false;
  if (seen.size() > kSeenPerOrigin) seen.erase(seen.begin());
  return true;
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

void Events::DeliverTo(ClientId client, Cached* event, Actions* actions) const {
  const auto wanted = wanted_.find(client);
  if (wanted == wanted_.end() || event->delivered.contains(client)) return;
  const EventMessage& message = event->message;
  const ProcId* proc = jobs_.ProcOf(client);
  // A process's own handlers were called by its library.
  if (proc == nullptr || client == event->raised_by ||
      !wanted->second.Has(message.status) || !MaySee(*proc, message)) {
    return;
  }
  event->delivered.insert(client);
  actions->push_back(NotifyClient{client, message.status, message.source,
                                  message.range, message.info});
}

void Events::Deliver(Cached event, bool keep, Actions* actions) {
  for (const auto& [client, wanted] : wanted_) {
    DeliverTo(client, &event, actions);
  }
  if (!keep) return;
  cache_.push_back(std::move(event));
  if (cache_.size() > kMaxCachedEvents) cache_.pop_front();
}

void Events::OnClientGone(ClientId client) {
  wanted_.erase(client);
  for (Cached& event : cache_) event.delivered.erase(client);
}

// Events of a job's processes are dropped with the job.
void Events::OnJobRemoved(const std::string& nspace) {
  std::erase_if(cache_, [&](const Cached& event) {
    return event.message.source.nspace == nspace;
  });
  std::erase_if(wanted_, [&](const auto& item) {
    return jobs_.ProcOf(item.first) == nullptr;
  });
}

void Events::OnTreeChanged(Actions* actions) {
  std::set<NodeId> now;
  for (const NodeId node : Neighbours()) {
    now.insert(node);
    if (neighbours_.contains(node)) continue;
    for (const Cached& event : cache_) {
      if (event.stays_here || StaysHere(event.message.range) ||
          event.message.origin == node) {
        continue;
      }
      actions->push_back(SendPeer{PeerMessage{self_, node, event.message}});
    }
  }
  neighbours_ = std::move(now);
}

void Events::OnNodeReturned(NodeId node) { seen_.erase(node); }

}  // namespace canopy::core
