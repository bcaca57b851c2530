// The links between simulated agents, and what goes wrong on them.
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

// What becomes of a message, beside its delay.
struct Fate {
  TimeNs late = 0;     // so much later than it would come
  bool twice = false;  // it comes a second time
  bool lost = false;   // with an agent on its way
};

// Messages in transit: delays, overtaking, duplicates, stalls, partitions, and
// losses on the way through a lost agent. A new fault of links belongs here.
class Network {
 public:
  // All must outlive it.
  Network(const Options& options, const Membership& members, EventQueue& queue,
          Random& random);

  // Sees the fate of each message, and returns what it is to be: lost or not
  // can not be changed. Must not inject faults.
  using OnSend = std::function<Fate(const core::PeerMessage&, const Fate&)>;
  void set_on_send(OnSend on_send) { on_send_ = std::move(on_send); }

  // From message.src to message.dst, which are different members.
  void Send(core::PeerMessage message);
  // Whether what has come to its end is received there.
  bool Delivers(const InTransit& message) const;

  // Nothing crosses the link between a node and its parent for that long; it
  // comes afterwards, in order.
  void Stall(NodeId node, TimeNs duration);
  // Nothing passes between the two sides.
  void Partition(const std::set<NodeId>& cut_off);
  // Returns those that were cut off, in order.
  std::vector<NodeId> Heal();
  // Nothing that the node sends leaves it, until Relink.
  void Unlink(NodeId node) { unlinked_ = node; }
  void Relink() { unlinked_ = kNoNode; }

  // What is in transit through the lost agent may be lost, and so is what is
  // sent through it until that is detected.
  void OnLoss(UndetectedLoss loss);
  // A new agent: it is on the root's side.
  void OnReturn(NodeId node) { cut_off_.erase(node); }
  // What is in transit from and to the agent is lost, and what is in transit
  // through it may be.
  void OnRestart(NodeId node);

 private:
  void LoseInTransit(const core::Tree& tree, NodeId node);
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
  std::map<NodeId, TimeNs> stalls_;  // of the link to the parent; until when
  std::set<NodeId> cut_off_;
  std::map<std::pair<NodeId, NodeId>, TimeNs> last_arrival_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_NETWORK_H_
