#include "tests/sim/network.h"

#include <algorithm>
#include <variant>

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

enum class Kind { kOrdered, kData, kStream };

template <typename... T>
bool IsOneOf(const MessageBody& body) {
  return (std::holds_alternative<T>(body) || ...);
}

// As with the overlay's priorities, small messages may overtake data.
Kind KindOf(const MessageBody& body) {
  if (IsOneOf<OutputData, OutputCredit, InputData, InputCredit>(body)) {
    return Kind::kStream;
  }
  const auto* up = std::get_if<CollectiveUp>(&body);
  if (up != nullptr && up->status == kAlreadyReleased) return Kind::kOrdered;
  if (IsOneOf<CollectiveUp, CollectiveDown, DmodexRequest, DmodexReply,
              JobMapRequest, JobMapReply, EventMessage, StateQuery, StateReply,
              DirectoryStore, DirectoryFound, FactsRequest, FactsReply,
              HostReply>(body)) {
    return Kind::kData;
  }
  return Kind::kOrdered;
}

// Messages on their way through an agent that has ended are lost with a
// probability of one in this number. An agent that has left in order loses only
// the messages that come to it after its farewell, which the next agent does
// not read any more.
uint64_t OddsOf(bool in_order) { return in_order ? 4 : 2; }

}  // namespace

Network::Network(const Options& options, const Membership& members,
                 EventQueue& queue, Random& random)
    : options_(options), members_(members), queue_(queue), random_(random) {}

void Network::Send(PeerMessage message) {
  const NodeId from = message.src;
  const NodeId to = message.dst;
  if (from == unlinked_) return;
  // The sender addresses an earlier incarnation of the receiver.
  const Membership::View view = members_.ViewOf(from, to);
  if (!view.unconfirmed && view.incarnation < members_.incarnation(to)) return;
  if (!members_.alive(to)) return;
  const Kind kind = KindOf(message.body);
  TimeNs when = queue_.now() + random_.Delay();
  Fate fate;
  fate.lost = IsLost(from, to, &when);
  if (!fate.lost) {
    fate.late = AfterStalls(from, to, when) - when;
    fate.twice = options_.duplicates != 0 && kind != Kind::kStream &&
                 random_.OneIn(options_.duplicates);
  }
  if (on_send_) fate = on_send_(message, fate);
  if (fate.lost) return;
  when += fate.late;
  TimeNs& last = last_arrival_[{from, to}];
  const bool overtakes = options_.overtaking != 0 && kind == Kind::kData &&
                         random_.OneIn(options_.overtaking);
  if (!overtakes) last = when = std::max(when, last);
  if (fate.twice) Post(when + random_.Delay(10), message);
  Post(when, std::move(message));
}

void Network::Post(TimeNs when, PeerMessage message) {
  const NodeId to = message.dst;
  InTransit transit;
  transit.receiver_start = members_.start(to);
  transit.receiver_incarnation = members_.incarnation(to);
  transit.sender_incarnation = members_.incarnation(message.src);
  transit.updates = members_.num_updates(message.src);
  transit.message = std::move(message);
  queue_.Post(when, std::move(transit));
}

bool Network::Delivers(const InTransit& message) const {
  const NodeId from = message.message.src;
  const NodeId to = message.message.dst;
  return members_.alive(to) && members_.start(to) == message.receiver_start &&
         members_.incarnation(to) == message.receiver_incarnation &&
         members_.Carries(from, message.sender_incarnation) &&
         cut_off_.contains(from) == cut_off_.contains(to);
}

// Returns whether a message is lost with a lost agent on its route. If it is
// not, it may be retained on its route until the loss is detected. Then
// `*when`, the time of its arrival, becomes later.
bool Network::IsLost(NodeId from, NodeId to, TimeNs* when) {
  const TimeNs now = queue_.now();
  for (const UndetectedLoss& loss : losses_) {
    // A sender that has detected the loss uses another route.
    if (loss.known < now || members_.alive(loss.node) ||
        !members_.ViewOf(from, loss.node).up) {
      continue;
    }
    const auto path = PathOf(loss.tree, from, to);
    const auto at = std::ranges::find(path, loss.node);
    if (at == path.end() || at == path.begin()) continue;
    const NodeId neighbor = *(at - 1);
    const auto detected = loss.detected.find(neighbor);
    const Membership::View view = members_.ViewOf(neighbor, loss.node);
    if (detected == loss.detected.end() || detected->second <= now ||
        view.incarnation > loss.incarnation || !view.up) {
      continue;
    }
    if (random_.OneIn(OddsOf(loss.in_order))) return true;
    *when = std::max(*when, detected->second + random_.Delay());
  }
  return false;
}

TimeNs Network::AfterStalls(NodeId from, NodeId to, TimeNs when) const {
  const Tree& tree = members_.tree();
  for (const auto& [node, until] : stalls_) {
    if (until <= when) continue;
    const auto path = PathOf(tree, from, to);
    if (std::ranges::count(path, node) > 0 &&
        std::ranges::count(path, tree.parent(node)) > 0) {
      when = until;
    }
  }
  return when;
}

// ----------------------------------------------------------------- faults ---

void Network::Stall(NodeId node, TimeNs duration) {
  stalls_[node] = queue_.now() + duration;
}

void Network::Partition(const std::set<NodeId>& cut_off) { cut_off_ = cut_off; }

std::vector<NodeId> Network::Heal() {
  const std::set<NodeId> nodes = std::exchange(cut_off_, {});
  return {nodes.begin(), nodes.end()};
}

void Network::LoseInTransit(const Tree& tree, NodeId node, uint64_t odds) {
  queue_.RemoveIf<InTransit>([&](const InTransit& transit) {
    const NodeId from = transit.message.src;
    const NodeId to = transit.message.dst;
    if (from == node || to == node) return false;
    const auto path = PathOf(tree, from, to);
    return std::ranges::count(path, node) > 0 && random_.OneIn(odds);
  });
}

void Network::OnLoss(UndetectedLoss loss) {
  LoseInTransit(loss.tree, loss.node, OddsOf(loss.in_order));
  std::erase_if(losses_, [&](const UndetectedLoss& other) {
    return other.known < queue_.now();
  });
  losses_.push_back(std::move(loss));
}

void Network::OnRestart(NodeId node) {
  queue_.RemoveIf<InTransit>([&](const InTransit& transit) {
    return transit.message.src == node || transit.message.dst == node;
  });
  LoseInTransit(members_.tree(), node, OddsOf(false));
}

}  // namespace canopy::sim
