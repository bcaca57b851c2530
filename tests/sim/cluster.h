// A cluster of agents' cores in one process, with simulated time, a network
// whose delays depend on a seed, and stand-ins for everything around an agent.
//
// Where an addition belongs:
// - an operation of clients: Clients (clients.h), and an Op of soak_plan.h for
//   the soak; the rules that must hold for it: oracle.h;
// - an action of the core: `On` of the stand-in that executes it, or
//   IsSimulated in agents.cc if no simulation needs it (agents.cc does not
//   compile without one of them); its name, and that of an input: trace.cc;
// - a stand-in: a class like these with `On` for its actions, a member of
//   Cluster and of StandIns (agents.h); AgentInputs takes its inputs to the
//   core;
// - a message: its name in trace.cc, its kind of order in KindOf of network.cc;
// - a fault of links: Network; a fault of agents: Membership for how others
//   detect it, and cluster_faults.cc for its effect on the node; both as a kind
//   of fault in soak_faults.cc for the soak;
// - an option of a test: Options (settings.h).
#ifndef CANOPY_TESTS_SIM_CLUSTER_H_
#define CANOPY_TESTS_SIM_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/agent_core.h"
#include "server/core/step/input.h"
#include "tests/sim/agent_inputs.h"
#include "tests/sim/agents.h"
#include "tests/sim/clients.h"
#include "tests/sim/event.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/host_stand_in.h"
#include "tests/sim/jobs.h"
#include "tests/sim/kvals.h"
#include "tests/sim/launchers.h"
#include "tests/sim/membership.h"
#include "tests/sim/network.h"
#include "tests/sim/observations.h"
#include "tests/sim/oracle.h"
#include "tests/sim/random.h"
#include "tests/sim/segments.h"
#include "tests/sim/settings.h"
#include "tests/sim/shims.h"
#include "tests/sim/spawn_host.h"
#include "tests/sim/standard_input.h"

namespace canopy::sim {

// Used by one thread. Deterministic: the same calls with the same seed give the
// same run. Events are executed only within the calls that run the cluster.
class Cluster {
 public:
  Cluster(uint32_t nodes, uint32_t radix, uint64_t seed,
          Persistence persistence = Persistence::kOff);

  Options& options() { return settings_.options; }
  Hooks& hooks() { return settings_.hooks; }
  std::mt19937_64& rng() { return random_.engine(); }

  // The stand-ins around the agents.
  Clients& clients() { return clients_; }
  Shims& shims() { return shims_; }
  StandardInput& input() { return input_; }
  const StandardInput& input() const { return input_; }
  Network& network() { return network_; }
  SpawnHost& spawn_host() { return spawn_host_; }
  HostStandIn& host() { return host_; }
  const Segments& segments() const { return segments_; }
  const Launchers& launchers() const { return launchers_; }
  const Membership& members() const { return members_; }
  const Observations& observed() const { return observed_; }
  const Oracle& oracle() const { return oracle_; }
  // Returns the agent of a process of a launched job.
  NodeId NodeOf(const ProcId& proc) const { return jobs_.NodeOf(proc); }

  // Requests a launch at the leader.
  void BeginLaunch(const JobSpec& job);
  // Requests a launch at the leader, and runs until no event is left.
  void Launch(const JobSpec& job);
  // Launches the job and connects every rank.
  void LaunchConnected(const JobSpec& job);
  // Makes the process call finalize, and then end with exit code 0.
  void Leave(const ProcId& proc);
  // Posts an input made by the test, at the present time.
  void Input(NodeId node, core::Input input) {
    inputs_.Post(node, std::move(input));
  }

  // Removes the agent and its machine at once; the other agents detect the loss
  // later.
  void KillNode(NodeId node);
  // Starts the agent of a new member, with this name (Membership::Add). Returns
  // the member's number.
  NodeId AddNode(std::string name = "");
  // Removes the member from the overlay for good, as `canopy node remove
  // --force`. Its agent ends the jobs that it controls. When they have ended,
  // it leaves in order, and its processes end with it.
  void RemoveNode(NodeId node);
  // Decides whether processes may be placed on the node.
  void SetDrained(NodeId node, bool drained) {
    members_.SetDrained(node, drained);
  }
  // Returns the jobs that have or will have processes on the node, or that its
  // agent controls. A member without jobs is removed without force.
  std::set<std::string> JobsOf(NodeId node) const;
  // Starts a new agent without state in the place of a killed one.
  void ReviveNode(NodeId node);
  // Kills the agent; its successor recovers at once. The clients and launchers
  // reattach, each after a time. Requires Persistence::kOn.
  void RestartNode(NodeId node);
  // Makes the agent learn that it was declared lost. It sees the loss and
  // return of all other agents, and they see its loss and return. Its processes
  // survive.
  void Rejoin(NodeId node);
  // Cuts the links between two sides. Agents on different sides then declare
  // each other lost after a time. `cut_off` has the agents that are not on the
  // root's side.
  void Split(const std::set<NodeId>& cut_off);
  // Restores the links: the agents that were cut off join again.
  void Heal();
  // Decides whether a member is in service. The agents learn of it one by one,
  // and agents that start later when they start.
  void SetInService(NodeId node, bool in_service);

  // Runs until no event is left; deadlines do not count.
  void Run();
  // Runs one event. Returns false if there is none.
  bool RunOne();
  // Runs the next event or deadline up to `end`. Returns false if there is
  // none.
  bool RunNext(TimeNs end);
  // Runs for this duration; deadlines count.
  void RunFor(TimeNs duration);
  // Calls `what` at the time `when`.
  void At(TimeNs when, std::function<void()> what) {
    queue_.Post(when, std::move(what));
  }
  TimeNs now() const { return queue_.now(); }
  // Returns the number of events that were not executed yet.
  size_t pending() const { return queue_.size(); }

  // The agent must be alive.
  core::ResourceCounts Count(NodeId node) const { return agents_.Count(node); }
  // Returns the jobs that still have processes, shared memory or state of a
  // core on a living node, each as one line.
  std::vector<std::string> Leftovers() const;
  // Returns the violations of rules; a hook may append to them.
  Errors& errors() { return errors_; }
  const Errors& errors() const { return errors_; }

 private:
  // Removes everything on a machine whose agent has ended.
  void Clear(NodeId node);
  void LeaveWhenIdle(NodeId node, TimeNs patience);
  std::vector<core::Input> LoseInputs(NodeId node);
  void Recover(NodeId node, const Segments::Published& published);
  void RecoverLocal(NodeId node, const std::string& nspace,
                    const Segments::Published& published,
                    std::map<std::string, Bytes>* control);
  void RecoverControl(NodeId node, const std::string& nspace,
                      const Bytes& control);
  void ReattachClients(NodeId node);
  void ReattachLaunchers(NodeId node);
  void LearnService(NodeId node);

  std::map<NodeId, bool> in_service_;  // the decisions, by member
  Settings settings_;
  Errors errors_;
  Random random_;
  EventQueue queue_;
  JobCatalog jobs_;
  Oracle oracle_;
  Membership members_;
  Network network_;
  AgentInputs inputs_;
  Segments segments_;
  Shims shims_;
  Launchers launchers_;
  Clients clients_;
  StandardInput input_;
  SpawnHost spawn_host_;
  HostStandIn host_;
  Observations observed_;
  Agents agents_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_CLUSTER_H_
