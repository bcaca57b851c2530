// A cluster of agents' cores in one process: simulated time, a network whose
// delays a seed chooses, and stand-ins for all that surrounds an agent.
//
// Where something new belongs:
// - an operation of clients: Clients (clients.h), and as an Op of
//   soak_plan.h for the soak; what must hold for it: oracle.h;
// - an action of the core: `On` of the stand-in that executes it; one that no
//   simulation needs: IsSimulated in agents.cc, which does not compile before
//   either is done; its name and that of an input: trace.cc;
// - a stand-in: a class like these with `On` for its actions, a member of
//   Cluster and of StandIns (agents.h); AgentInputs is its way to the core;
// - a message: its name in trace.cc, its order in KindOf of network.cc;
// - a fault of links: Network; of agents: Membership for how others come to
//   know of it, and cluster_faults.cc for what becomes of the node; both as a
//   kind of soak_faults.cc for the soak;
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

// One thread. Deterministic: the same calls with the same seed are the same
// run. Nothing happens outside of the calls that run it.
class Cluster {
 public:
  Cluster(uint32_t nodes, uint32_t radix, uint64_t seed,
          Persistence persistence = Persistence::kOff);

  Options& options() { return settings_.options; }
  Hooks& hooks() { return settings_.hooks; }
  std::mt19937_64& rng() { return random_.engine(); }

  // What surrounds the agents.
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
  // The agent of a process of a job that was launched.
  NodeId NodeOf(const ProcId& proc) const { return jobs_.NodeOf(proc); }

  // Requests a launch at the root.
  void BeginLaunch(const JobSpec& job);
  // The same, and runs until nothing is under way.
  void Launch(const JobSpec& job);
  // Launches, and connects every rank.
  void LaunchConnected(const JobSpec& job);
  // The process calls finalize, then ends with exit code 0.
  void Leave(const ProcId& proc);
  // An input made by hand, now.
  void Input(NodeId node, core::Input input) {
    inputs_.Post(node, std::move(input));
  }

  // The agent and its machine are gone at once; others detect it later.
  void KillNode(NodeId node);
  // A new agent without state joins in the place of one that was killed.
  void ReviveNode(NodeId node);
  // The agent is killed and its successor recovers at once; its clients and
  // launchers reattach, each after a time. Only with Persistence::kOn.
  void RestartNode(NodeId node);
  // The agent learns that it was declared lost: it sees the loss and return of
  // all others, and they see its own. Its processes survive.
  void Rejoin(NodeId node);
  // Agents on different sides lose contact, and after a time declare each other
  // lost. `cut_off`: those without the root's side.
  void Split(const std::set<NodeId>& cut_off);
  // Links are back: those that were cut off join again.
  void Heal();

  // Runs until nothing is under way; deadlines are not waited for.
  void Run();
  // One event; false when there is none.
  bool RunOne();
  // The next event or deadline up to `end`; false when there is none.
  bool RunNext(TimeNs end);
  // Runs for that long, with deadlines.
  void RunFor(TimeNs duration);
  // Has it done at that time.
  void At(TimeNs when, std::function<void()> what) {
    queue_.Post(when, std::move(what));
  }
  TimeNs now() const { return queue_.now(); }
  // Events under way.
  size_t pending() const { return queue_.size(); }

  // Of an agent that is alive.
  core::ResourceCounts Count(NodeId node) const { return agents_.Count(node); }
  // Jobs of which something is left on a living node: processes, shared
  // memory, or anything that its core holds. One line each.
  std::vector<std::string> Leftovers() const;
  // Anything that must never happen and did; a hook may add to it.
  Errors& errors() { return errors_; }
  const Errors& errors() const { return errors_; }

 private:
  std::vector<core::Input> LoseInputs(NodeId node);
  void Recover(NodeId node, const Segments::Published& published);
  void RecoverLocal(NodeId node, const std::string& nspace,
                    const Segments::Published& published,
                    std::map<std::string, Bytes>* control);
  void RecoverControl(NodeId node, const std::string& nspace,
                      const Bytes& control);
  void ReattachClients(NodeId node);
  void ReattachLaunchers(NodeId node);

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
