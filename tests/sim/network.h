// The links between simulated agents, and their faults.
#ifndef CANOPY_TESTS_SIM_NETWORK_H_
#define CANOPY_TESTS_SIM_NETWORK_H_

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/tree.h"
#include "tests/sim/event.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/membership.h"
#include "tests/sim/random.h"
#include "tests/sim/settings.h"

namespace canopy::sim {

// The fate of a message, apart from its normal delay.
struct Fate {
  TimeNs late = 0;     // additional delay
  bool twice = false;  // true: delivered twice
  bool lost = false;   // true: lost with an agent on its route
};

// Messages in transit: delays, overtaking, duplicates, stalls, partitions, and
// losses on the way through a lost agent. A new fault of links belongs here.
class Network {
 public:
  // All references must outlive this object.
  Network(const Options& options, const Membership& members, EventQueue& queue,
          Random& random);

  // A function that gets the fate of each message and returns its replacement.
  // It cannot change `lost`, and must not inject faults.
  using OnSend = std::function<Fate(const core::PeerMessage&, const Fate&)>;
  void set_on_send(OnSend on_send) { on_send_ = std::move(on_send); }

  // Sends from message.src to message.dst, which are different members.
  void Send(core::PeerMessage message);
  // Returns whether a message that has arrived is accepted by its receiver.
  bool Delivers(const InTransit& message) const;

  // Stalls the link between a node and its parent. Messages that cross it are
  // delivered afterwards, in order.
  void Stall(NodeId node, TimeNs duration);
  // From now on, no message passes between the two sides.
  void Partition(const std::set<NodeId>& cut_off);
  // Returns the nodes that were cut off, in order.
  std::vector<NodeId> Heal();
  // Keeps messages from leaving the node until Relink.
  void Unlink(NodeId node) { unlinked_ = node; }
  void Relink() { unlinked_ = kNoNode; }

  // Called when an agent is lost: messages in transit through it may be lost,
  // and so may messages that are sent through it before its loss is detected.
  void OnLoss(UndetectedLoss loss);
  // Called when a new agent joins; the new agent is on the root's side.
  void OnReturn(NodeId node) { cut_off_.erase(node); }
  // Called when the agent is restarted: messages in transit from and to it are
  // lost; messages in transit through it may be lost.
  void OnRestart(NodeId node);

 private:
  void LoseInTransit(const core::Tree& tree, NodeId node, uint64_t odds);
  bool IsLost(NodeId from, NodeId to, TimeNs* when);
  TimeNs AfterStalls(NodeId from, NodeId to, TimeNs when) const;
  void Post(TimeNs when, core::PeerMessage message);

  const Options& options_;
  const Membership& members_;
  EventQueue& queue_;
  Random& random_;
  OnSend on_send_;
  std::vector<UndetectedLoss> losses_;
  NodeId unlinked_ = kNoNode;
  std::map<NodeId, TimeNs> stalls_;  // until when the link to the parent stalls
  std::set<NodeId> cut_off_;
  std::map<std::pair<NodeId, NodeId>, TimeNs> last_arrival_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_NETWORK_H_
