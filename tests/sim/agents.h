// The simulated agents: runs a core for each and executes its actions.
#ifndef CANOPY_TESTS_SIM_AGENTS_H_
#define CANOPY_TESTS_SIM_AGENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/ids.h"
#include "server/core/agent_core.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/input.h"
#include "tests/sim/clients.h"
#include "tests/sim/event.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/host_stand_in.h"
#include "tests/sim/launchers.h"
#include "tests/sim/membership.h"
#include "tests/sim/network.h"
#include "tests/sim/observations.h"
#include "tests/sim/oracle.h"
#include "tests/sim/segments.h"
#include "tests/sim/settings.h"
#include "tests/sim/shims.h"
#include "tests/sim/spawn_host.h"
#include "tests/sim/standard_input.h"

namespace canopy::sim {

// The classes that execute the actions of a core. Each has `On(NodeId,
// Action&)` for its actions. An action that several classes handle is executed
// in this order.
using StandIns =
    std::tuple<Segments&, Shims&, Launchers&, SpawnHost&, HostStandIn&,
               Clients&, StandardInput&, Observations&>;

// Passes events to the cores and executes the resulting actions, step by step,
// as the agent's runtime does.
class Agents {
 public:
  // All references must outlive this object.
  Agents(uint32_t radix, const Settings& settings, EventQueue& queue,
         Membership& members, Network& network, Oracle& oracle, Errors& errors,
         StandIns stand_ins);

  // Starts a new core without state, which replaces the node's present core.
  void Start(NodeId node);
  void Stop(NodeId node);
  // The agent must be running.
  core::ResourceCounts Count(NodeId node) const {
    return cores_[node]->Count();
  }

  // Delivers the event to its receiver, unless the receiver is gone.
  void Deliver(Event event);
  void Step(NodeId node, core::Input input);

 private:
  void On(LocalInput& event);
  void On(InTransit& event);
  void On(UpdateDelivery& event);
  void On(DeadlineReached& event);
  void On(Callback& event) { event(); }
  void Apply(NodeId observer, const MemberUpdate& update);
  void CheckOrder(const core::Actions& actions);
  template <typename Action>
  void Execute(NodeId node, Action& action);
  void Send(NodeId node, core::PeerMessage message);

  const uint32_t radix_;
  const Settings& settings_;
  EventQueue& queue_;
  Membership& members_;
  Network& network_;
  Oracle& oracle_;
  Errors& errors_;
  const StandIns stand_ins_;
  std::vector<std::unique_ptr<core::AgentCore>>
      cores_;  // null: the agent does not run
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_AGENTS_H_
