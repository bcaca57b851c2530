#include "tests/sim/membership.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

std::vector<NodeId> NeighborsOf(const Tree& tree, NodeId node) {
  std::vector<NodeId> out = tree.children(node);
  if (tree.parent(node) != kNoNode) out.push_back(tree.parent(node));
  return out;
}

}  // namespace

std::string NodeName(NodeId node) { return "n" + std::to_string(node); }

std::vector<NodeId> PathOf(const Tree& tree, NodeId from, NodeId to) {
  std::vector<NodeId> up;
  std::vector<NodeId> down;
  while (from != to && from != kNoNode && to != kNoNode) {
    if (from > to) {
      up.push_back(from);
      from = tree.parent(from);
    } else {
      down.push_back(to);
      to = tree.parent(to);
    }
  }
  up.push_back(from);
  up.insert(up.end(), down.rbegin(), down.rend());
  return up;
}

Membership::Membership(uint32_t nodes, uint32_t radix, EventQueue& queue,
                       Random& random)
    : queue_(queue),
      random_(random),
      num_first_(nodes),
      tree_(nodes, radix),
      members_(nodes),
      num_known_(nodes, nodes),
      updates_(nodes) {
  for (NodeId node = 0; node < nodes; ++node) {
    members_[node].name = NodeName(node);
  }
}

bool Membership::HasMajority() const {
  uint32_t kept = 0;
  uint32_t up = 0;
  for (NodeId node = 0; node < size(); ++node) {
    kept += removed(node) ? 0 : 1;
    up += !removed(node) && alive(node) ? 1 : 0;
  }
  return up > kept / 2;
}

Membership::View Membership::ViewOf(NodeId observer, NodeId subject) const {
  const auto it = views_.find({observer, subject});
  return it == views_.end() ? View() : it->second;
}

bool Membership::Knows(NodeId observer, NodeId node) const {
  return num_known_[observer] > node && ViewOf(observer, node).up;
}

bool Membership::IsKnownToAll(NodeId node) const {
  for (NodeId other = 0; other < size(); ++other) {
    if (other != node && alive(other) && !Knows(other, node)) return false;
  }
  return true;
}

void Membership::Deliver(TimeNs when, NodeId observer, MemberUpdate update) {
  queue_.Post(when,
              UpdateDelivery{observer, start(observer), std::move(update)});
}

void Membership::Believe(NodeId observer, MemberUpdate update) {
  views_[{observer, update.subject}] = {update.incarnation, update.up, false};
  updates_[observer].push_back(std::move(update));
}

void Membership::ForgetUpdates(NodeId observer) {
  members_[observer].amnesic = true;
  updates_[observer].clear();
  std::erase_if(forwarded_, [&](const auto& item) {
    return item.first.first == observer || item.first.second == observer;
  });
}

// ----------------------------------------------------------------- faults ---

// Data that the agent has sent and no member has read is lost with the agent's
// connections.
UndetectedLoss Membership::Lose(NodeId node) { return End(node, false); }

// The agent's neighbours have acknowledged all of its data before it announces
// that it leaves (TreeOverlay::CheckLeft).
UndetectedLoss Membership::Leave(NodeId node) {
  members_[node].left = true;
  return End(node, true);
}

UndetectedLoss Membership::End(NodeId node, bool in_order) {
  UndetectedLoss loss{tree_, node, incarnation(node), {}, 0, in_order};
  const MemberUpdate update{node, false, loss.incarnation,
                            in_order ? kLeftOverlay : "killed by the test"};
  tree_.SetAlive(node, false);
  for (const NodeId neighbor : NeighborsOf(loss.tree, node)) {
    const TimeNs detected = queue_.now() + random_.Delay(in_order ? 1 : 3);
    loss.detected[neighbor] = detected;
    ForwardLoss(update, neighbor, detected, &loss);
  }
  ++members_[node].incarnation;
  return loss;
}

// Forwards the loss, which one neighbour has detected, through that neighbour's
// part of the tree.
void Membership::ForwardLoss(const MemberUpdate& update, NodeId neighbor,
                             TimeNs detected, UndetectedLoss* loss) {
  std::vector<std::tuple<NodeId, NodeId, TimeNs>> todo;
  todo.emplace_back(neighbor, update.subject, detected);
  while (!todo.empty()) {
    const auto [at, from, when] = todo.back();
    todo.pop_back();
    loss->known = std::max(loss->known, when);
    if (alive(at)) Deliver(when, at, update);
    for (const NodeId to : NeighborsOf(loss->tree, at)) {
      if (to != from) todo.emplace_back(to, at, when + random_.Delay());
    }
  }
}

NodeId Membership::Add(std::string name) {
  const NodeId node = size();
  tree_.Grow(node + 1);
  members_.emplace_back().name =
      name.empty() ? NodeName(node) : std::move(name);
  num_known_.push_back(node + 1);
  updates_.emplace_back();
  for (NodeId other = 0; other < node; ++other) {
    views_[{other, node}] = {0, false, false};
  }
  Return(node);
  return node;
}

void Membership::LearnMembers(NodeId node) {
  num_known_[node] = size();
  ForgetUpdates(node);
  for (NodeId other = 0; other < size(); ++other) {
    if (other == node) continue;
    const uint64_t last = LastSeen(other);
    Believe(node, {other, true, last, "", members_[other].recovered});
    if (alive(other)) continue;
    Deliver(queue_.now(), node,
            {other, false, last,
             members_[other].left ? kLeftOverlay : "was lost before"});
  }
}

void Membership::Return(NodeId node) {
  Member& member = members_[node];
  ++member.start;
  ++member.incarnation;
  member.recovered = member.amnesic = false;
  tree_.SetAlive(node, true);
  LearnMembers(node);
  for (NodeId other = 0; other < size(); ++other) {
    if (other == node || !alive(other)) continue;
    Deliver(queue_.now() + random_.Delay(6), other,
            {node, true, member.incarnation, ""});
  }
}

void Membership::Restart(NodeId node) {
  Member& member = members_[node];
  ++member.start;
  ++member.incarnation;
  member.recovered = true;
  LearnMembers(node);
  for (NodeId other = 0; other < size(); ++other) {
    if (other == node) continue;
    Deliver(queue_.now() + random_.Delay(6), other,
            {node, true, member.incarnation, "", true});
  }
}

TimeNs Membership::BeginRejoin(NodeId node) {
  ++members_[node].incarnation;
  members_[node].recovered = false;
  ForgetUpdates(node);
  // These updates would have come over the links that the member has lost.
  queue_.RemoveIf<UpdateDelivery>([&](const UpdateDelivery& delivery) {
    return delivery.observer == node;
  });
  return queue_.now() + random_.Delay(6);
}

bool Membership::Unlink(NodeId node, NodeId other) {
  View& view = views_[{node, other}];
  view.unconfirmed = true;
  return std::exchange(view.up, false);
}

void Membership::Relink(NodeId node, NodeId other, TimeNs linked) {
  const uint64_t other_incarnation = LastSeen(other);
  if (!alive(other)) {
    Deliver(linked, node, {other, false, other_incarnation, "lost"});
    return;
  }
  const uint64_t joins = incarnation(node);
  // The member accepts no links before its new parent has sent it the members.
  const TimeNs when = linked + random_.Delay(6);
  if (random_.OneIn(2)) {
    Deliver(when, other,
            {node, false, joins - 1, "it did not connect in time"});
  }
  Deliver(when + random_.Delay(3), other, {node, true, joins, ""});
  Deliver(linked, node, {other, true, other_incarnation, ""});
}

void Membership::Partition(const std::set<NodeId>& cut_off) {
  for (NodeId a = 0; a < size(); ++a) {
    for (NodeId b = 0; b < size(); ++b) {
      if (cut_off.contains(a) == cut_off.contains(b)) continue;
      if (!alive(a) || !alive(b)) continue;
      Deliver(queue_.now() + random_.Delay(6), a,
              {b, false, incarnation(b), "no word from it"});
    }
  }
}

// ------------------------------------------------------------------ views ---

// If `from` still knows the first members but `node` does not, returns an
// update for each member that `node` has not seen since `node` lost its links.
// Each update states that the member is up. Otherwise returns no updates.
std::map<NodeId, MemberUpdate> Membership::FirstMembers(NodeId from,
                                                        NodeId node) const {
  std::map<NodeId, MemberUpdate> out;
  if (members_[from].amnesic || !members_[node].amnesic) return out;
  for (NodeId n = 0; n < num_first_; ++n) {
    if (n != from && ViewOf(node, n).unconfirmed) out[n] = {n, true, 0, ""};
  }
  return out;
}

bool Membership::Carries(NodeId node, uint64_t sender_incarnation) const {
  const uint64_t last =
      members_[node].left ? LastSeen(node) : incarnation(node);
  return sender_incarnation == last;
}

// Each link carries member updates before other frames (TreeOverlay::Flush),
// and each agent on the route applies them before it forwards a packet
// (TreeOverlay::OnFrame). Therefore the receiver of a message believes that its
// sender is up, and has every update that the sender had when it sent the
// message. Later updates may come by another route or afterwards.
std::vector<MemberUpdate> Membership::UpdatesAhead(const InTransit& message) {
  const NodeId node = message.message.dst;
  const NodeId from = message.message.src;
  size_t& forwarded = forwarded_[{node, from}];
  std::map<NodeId, MemberUpdate> last;
  if (forwarded == 0) last = FirstMembers(from, node);
  for (size_t i = forwarded; i < message.updates; ++i) {
    last[updates_[from][i].subject] = updates_[from][i];
  }
  forwarded = std::max(forwarded, message.updates);
  last.erase(node);
  std::vector<MemberUpdate> out;
  for (auto& [subject, update] : last) out.push_back(std::move(update));
  out.push_back(
      {from, true, message.sender_incarnation, "", members_[from].recovered});
  return out;
}

// The records of members precede their states on each link.
std::vector<Input> Membership::Apply(NodeId observer,
                                     const MemberUpdate& update) {
  std::vector<Input> inputs;
  while (num_known_[observer] <= update.subject) {
    const NodeId added = num_known_[observer]++;
    inputs.emplace_back(MemberAdded{added, name(added)});
  }
  std::ranges::move(ApplyState(observer, update), std::back_inserter(inputs));
  return inputs;
}

std::vector<Input> Membership::ApplyState(NodeId observer,
                                          const MemberUpdate& update) {
  const NodeStateChanged joined{update.subject, true, ""};
  const View view = ViewOf(observer, update.subject);
  if (view.unconfirmed) {
    Believe(observer, update);
    return update.up ? std::vector<Input>{joined} : std::vector<Input>();
  }
  if (update.incarnation < view.incarnation) return {};
  if (update.incarnation == view.incarnation && (update.up || !view.up)) {
    return {};
  }
  Believe(observer, update);
  if (view.up && update.recovered) return {NodeRestarted{update.subject}};
  std::vector<Input> out;
  // The observer has not seen the return that preceded this loss.
  if (!view.up && !update.up) out.push_back(joined);
  if (view.up || !update.up) {
    out.push_back(NodeStateChanged{
        update.subject, false,
        update.up ? "the agent was restarted" : update.reason,
        update.up ? update.incarnation : update.incarnation + 1,
        !update.up && update.reason == kLeftOverlay});
  }
  if (update.up) out.push_back(joined);
  return out;
}

}  // namespace canopy::sim
