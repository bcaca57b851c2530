// Stand-ins for launchers, and for the files in which agents keep records of
// their jobs.
#ifndef CANOPY_TESTS_SIM_LAUNCHERS_H_
#define CANOPY_TESTS_SIM_LAUNCHERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/persisted_state.h"
#include "tests/sim/agent_inputs.h"
#include "tests/sim/jobs.h"
#include "tests/sim/settings.h"

namespace canopy::sim {

// The surroundings of agents that control jobs: the `canopy run` of each job,
// which acknowledges output as soon as it has arrived, and the control records.
class Launchers {
 public:
  // All references must outlive this object.
  Launchers(uint32_t nodes, const Settings& settings, const JobCatalog& jobs,
            AgentInputs& inputs);

  // Requests the launch of a job at the agent that is to control it.
  void Launch(NodeId controller, const JobSpec& job);
  void On(NodeId node, core::JobChanged& a);
  void On(NodeId node, core::DeliverOutput& a);
  void On(NodeId node, core::PersistControlState& a);

  const std::vector<core::JobChanged>& job_changes() const {
    return job_changes_;
  }
  // Returns how many bytes of a process's output its launcher has, including
  // those redirected to other readers.
  uint64_t delivered(const ProcId& proc) const;

  // Raises the events of finished jobs again, because they may have been lost.
  void AnnounceAgain(NodeId node);

  // Removes the control records of a machine that fails.
  void Reset(NodeId node);
  // The control records of the jobs that the node's agent controls, by
  // namespace.
  const std::map<std::string, Bytes>& ControlRecords(NodeId node) const {
    return nodes_[node].control;
  }
  // Returns the jobs that were launched at the node and have not ended.
  const std::set<std::string>& Controlled(NodeId node) const {
    return nodes_[node].controlled;
  }
  // Returns whether the end of the job was reported at the node.
  bool IsOver(NodeId node, const std::string& nspace) const {
    return nodes_[node].over.contains(nspace);
  }
  // Makes the job's launcher reattach to the successor of the job's controller.
  // `input_begin` is the position from which it offers the job's input again;
  // no value if it offers none.
  void Reattach(NodeId controller, const std::string& nspace,
                std::optional<uint64_t> input_begin);

  // Makes room for the next node.
  void AddNode() { nodes_.emplace_back(); }

 private:
  // Raises the events of the job, each time with the same identities.
  void Announce(NodeId node, const core::JobChanged& change);

  struct Node {
    std::map<std::string, Bytes> control;
    std::map<std::string, core::JobChanged> over;
    std::set<std::string> controlled;
  };

  const Settings& settings_;
  const JobCatalog& jobs_;
  AgentInputs& inputs_;
  std::vector<Node> nodes_;
  std::vector<core::JobChanged> job_changes_;
  std::map<ProcId, uint64_t> delivered_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_LAUNCHERS_H_
