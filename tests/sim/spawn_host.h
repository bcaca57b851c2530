// A stand-in for the part of the control service that executes spawns.
#ifndef CANOPY_TESTS_SIM_SPAWN_HOST_H_
#define CANOPY_TESTS_SIM_SPAWN_HOST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/control_inputs.h"
#include "server/core/step/input.h"
#include "tests/sim/agent_inputs.h"
#include "tests/sim/jobs.h"
#include "tests/sim/launchers.h"
#include "tests/sim/membership.h"
#include "tests/sim/oracle.h"
#include "tests/sim/standard_input.h"

namespace canopy::sim {

// Returns a call for a job with a rank on each of these agents. In place of an
// agent that is drained or removed by then, another agent is chosen. With no
// agents, the job cannot be mapped.
Bytes SpawnCallFor(const std::vector<NodeId>& agents);

// Executes spawns, and reports an error if a spawn is executed twice. Like the
// control service, it keeps the state for its successor in files, except for
// spawns that wait for their placement, which are requested again.
class SpawnHost {
 public:
  // When a spawn is executed or refused, and with which status it is answered.
  struct Placement {
    TimeNs after = 0;
    int status = 0;
    bool answered_twice = false;  // the second answer has another status
  };
  using Place = std::function<Placement(const core::HostSpawn&)>;

  // All references must outlive this object.
  SpawnHost(JobCatalog& jobs, const Membership& members, AgentInputs& inputs,
            Oracle& oracle, StandardInput& standard_input, Launchers& launchers,
            Errors& errors);

  // Sets a function that decides about each request of a spawn; by default the
  // spawn is executed at once.
  void set_place(Place place) { place_ = std::move(place); }

  void On(NodeId node, core::HostSpawn& a);
  void On(NodeId node, core::JobChanged& a);

  // Returns the inputs by which the node's successor learns of its
  // predecessor's spawns.
  std::vector<core::Input> Recovered(NodeId node);
  // Drops the spawns that wait for their placement, because a successor does
  // not know them.
  void LoseAgent(NodeId node);
  // Removes the files of a machine that fails.
  void Reset(NodeId node);

  // Returns the jobs made for the request, in order.
  const std::vector<std::string>& JobsOf(const ProcId& proc,
                                         RequestId request) {
    return executed_[{proc, request}];
  }

 private:
  using Id = std::pair<ProcId, RequestId>;
  struct Spawned {
    NodeId node = kNoNode;
    Id id;
    size_t num_procs = 0;
    bool ran = false;  // all processes have started
    bool over = false;
    bool answered = false;
    bool twice = false;  // the answer comes twice
  };

  void CheckNotExecuted(const Id& id);
  // Returns the agent on which the controller places processes: the wanted one,
  // or, if that is drained or removed, another one that is up.
  NodeId PlaceFor(NodeId wanted, NodeId controller) const;
  void Execute(NodeId node, const core::HostSpawn& spawn,
               const Placement& placement);
  void Answer(NodeId node, const core::SpawnDone& done, bool twice);

  JobCatalog& jobs_;
  const Membership& members_;
  AgentInputs& inputs_;
  Oracle& oracle_;
  StandardInput& standard_input_;
  Launchers& launchers_;
  Errors& errors_;
  std::map<std::string, Spawned> spawned_;  // jobs with a record on some node
  std::map<Id, std::vector<std::string>> executed_;
  Place place_;
  std::map<Id, NodeId> waiting_;  // spawns that wait for their placement
  uint32_t last_ = 0;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SPAWN_HOST_H_
