// The simulated agents: a core each, and what is done with its actions.
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

// What executes the actions of a core: each has `On(NodeId, Action&)` for its
// own. An action that several have is executed in this order.
using StandIns =
    std::tuple<Segments&, Shims&, Launchers&, SpawnHost&, HostStandIn&,
               Clients&, StandardInput&, Observations&>;

// Gives events to the cores and executes what they ask for, step by step, as
// the agent's runtime does.
class Agents {
 public:
  // All must outlive it.
  Agents(uint32_t radix, const Settings& settings, EventQueue& queue,
         Membership& members, Network& network, Oracle& oracle, Errors& errors,
         StandIns stand_ins);

  // A new core without state, in the place of any other.
  void Start(NodeId node);
  void Stop(NodeId node);
  // Of an agent that runs.
  core::ResourceCounts Count(NodeId node) const {
    return cores_[node]->Count();
  }

  // What the event is for receives it, unless it is gone.
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
      cores_;  // null: it does not run
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_AGENTS_H_
