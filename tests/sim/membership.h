// The members of a simulated overlay, and what each member knows of the others.
#ifndef CANOPY_TESTS_SIM_MEMBERSHIP_H_
#define CANOPY_TESTS_SIM_MEMBERSHIP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/step/input.h"
#include "server/core/tree.h"
#include "tests/sim/event.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/random.h"

namespace canopy::sim {

// Returns the name of a member for which no other name was chosen.
std::string NodeName(NodeId node);

// The reason of the loss of a member that has left in order.
inline constexpr char kLeftOverlay[] = "left the overlay";

// Returns the members on the route between two members, both included.
std::vector<NodeId> PathOf(const core::Tree& tree, NodeId from, NodeId to);

// A lost agent whose loss some neighbours have not detected.
struct UndetectedLoss {
  core::Tree tree;  // the tree with the lost agent
  NodeId node = kNoNode;
  uint64_t incarnation = 0;
  std::map<NodeId, TimeNs> detected;  // time, by neighbour
  TimeNs known = 0;                   // time when all members know
  bool in_order = false;              // the agent has left in order
};

// The members as an observer above the cluster sees them, the views of the
// members themselves, and the updates that they forward to each other. A new
// fault of agents belongs here: how the other members detect it.
class Membership {
 public:
  // An observer's view of a subject.
  struct View {
    uint64_t incarnation = 0;
    bool up = true;
    // True if the observer has not seen the subject since it lost all of its
    // links.
    bool unconfirmed = false;
  };

  // `queue` and `random` must outlive this object.
  Membership(uint32_t nodes, uint32_t radix, EventQueue& queue, Random& random);

  uint32_t size() const { return tree_.size(); }
  const core::Tree& tree() const { return tree_; }
  NodeId root() const { return tree_.root(); }
  NodeId leader() const { return tree_.leader(); }
  // Records a decision. The members are notified by the caller.
  void SetInService(NodeId node, bool in_service) {
    tree_.SetInService(node, in_service);
  }
  bool alive(NodeId node) const { return tree_.alive(node); }
  // Returns how many times the agent was started again, each time with a new
  // core.
  uint64_t start(NodeId node) const { return members_[node].start; }
  const std::string& name(NodeId node) const { return members_[node].name; }
  // Returns true if it was decided that the member leaves for good, also while
  // its agent still runs.
  bool removed(NodeId node) const { return members_[node].removed; }
  // Returns true if processes may be placed on the node.
  bool InService(NodeId node) const {
    return !members_[node].removed && !members_[node].drained;
  }
  // Returns true if more than half of the members that were not removed are up.
  // Otherwise nothing is decided about members.
  bool HasMajority() const;
  // Returns the incarnation of the node's links.
  uint64_t incarnation(NodeId node) const { return members_[node].incarnation; }
  // Returns the number of member updates that a node has received.
  size_t num_updates(NodeId node) const { return updates_[node].size(); }
  View ViewOf(NodeId observer, NodeId subject) const;
  // Return true if the observer, or each living member, sees the node as up.
  bool Knows(NodeId observer, NodeId node) const;
  bool IsKnownToAll(NodeId node) const;

  // Loses the agent. Each neighbour detects the loss after a time and forwards
  // it through its part of the tree.
  UndetectedLoss Lose(NodeId node);
  // Makes the agent leave in order. As Lose, but the messages that it has sent
  // arrive, and so do most messages that it had to forward. A message that it
  // has sent may come after the state that reports its leave, because links
  // send states first.
  UndetectedLoss Leave(NodeId node);
  // Makes a new agent join, which has no state. The other members learn of it
  // one by one, and it learns which members are lost. The member was not
  // removed.
  void Return(NodeId node);
  // Adds a member, whose agent joins. The other members learn of it one by one,
  // and it learns which members are lost. An empty name stands for NodeName.
  // Returns its number.
  NodeId Add(std::string name = "");
  // Records decisions of the root. The cores learn nothing of them: a member
  // that is removed leaves afterwards (Leave), or was lost before.
  void Remove(NodeId node) { members_[node].removed = true; }
  void SetDrained(NodeId node, bool drained) {
    members_[node].drained = drained;
  }
  // Replaces the agent at once by a successor, which has its jobs. The other
  // members learn of it one by one.
  void Restart(NodeId node);

  // Makes a member lose all of its links and join again with its state. Returns
  // the time when it has links again. The caller then calls Unlink (which
  // returns true if the member has to see the other's loss) and Relink for each
  // other member in order.
  TimeNs BeginRejoin(NodeId node);
  bool Unlink(NodeId node, NodeId other);
  void Relink(NodeId node, NodeId other, TimeNs linked);

  // Makes members on different sides declare each other lost, one by one.
  void Partition(const std::set<NodeId>& cut_off);

  // Returns whether a message that the node has sent over the links of this
  // incarnation may still arrive.
  bool Carries(NodeId node, uint64_t sender_incarnation) const;
  // Returns the updates that precede a message at its receiver, in order.
  std::vector<MemberUpdate> UpdatesAhead(const InTransit& message);
  // Changes the observer's view. Returns the inputs of its core, in order; an
  // empty list if the update is older than the view.
  std::vector<core::Input> Apply(NodeId observer, const MemberUpdate& update);

 private:
  struct Member {
    std::string name;
    uint64_t start = 0;
    uint64_t incarnation = 0;
    bool recovered = false;  // this incarnation has its predecessor's jobs
    bool amnesic = false;    // the agent no longer knows the first members
    bool left = false;       // the last agent has left in order
    bool removed = false;
    bool drained = false;
  };

  UndetectedLoss End(NodeId node, bool in_order);
  // Returns the last incarnation that other members may have seen.
  uint64_t LastSeen(NodeId node) const {
    return incarnation(node) - (alive(node) ? 0 : 1);
  }
  // Makes an agent that was started now know all members. It learns which of
  // them are lost when it joins.
  void LearnMembers(NodeId node);
  std::vector<core::Input> ApplyState(NodeId observer,
                                      const MemberUpdate& update);
  void Deliver(TimeNs when, NodeId observer, MemberUpdate update);
  void Believe(NodeId observer, MemberUpdate update);
  void ForgetUpdates(NodeId observer);
  void ForwardLoss(const MemberUpdate& update, NodeId neighbor, TimeNs detected,
                   UndetectedLoss* loss);
  std::map<NodeId, MemberUpdate> FirstMembers(NodeId from, NodeId node) const;

  EventQueue& queue_;
  Random& random_;
  const uint32_t num_first_;  // members from the start
  core::Tree tree_;
  std::vector<Member> members_;
  std::vector<uint32_t> num_known_;  // how many members each member knows
  std::map<std::pair<NodeId, NodeId>, View> views_;  // observer, subject
  // The updates that each member received, in order.
  std::vector<std::vector<MemberUpdate>> updates_;
  // By receiver and sender: the number of the sender's updates that the
  // receiver has received with the sender's messages.
  std::map<std::pair<NodeId, NodeId>, size_t> forwarded_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_MEMBERSHIP_H_
