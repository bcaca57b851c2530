// Stand-ins for shims and the processes that they hold.
#ifndef CANOPY_TESTS_SIM_SHIMS_H_
#define CANOPY_TESTS_SIM_SHIMS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/messages.h"
#include "server/core/step/facts.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/process_actions.h"
#include "server/core/step/process_inputs.h"
#include "tests/sim/agent_inputs.h"
#include "tests/sim/jobs.h"
#include "tests/sim/random.h"
#include "tests/sim/settings.h"

namespace canopy::sim {

// Starts, signals and ends the processes of each node, and reports their output
// and exits. If agents persist, also keeps the state that a shim keeps for a
// successor: the journal, unacknowledged output, ends of streams and exits.
class Shims {
 public:
  using OnProcess = std::function<void(const ProcId&)>;

  // `on_end` is called when a process has ended, before the end is reported.
  // All references must outlive this object.
  Shims(uint32_t nodes, const Settings& settings, const JobCatalog& jobs,
        EventQueue& queue, AgentInputs& inputs, Random& random, Errors& errors,
        OnProcess on_end);

  void On(NodeId node, core::PrepareLocal& a);
  void On(NodeId node, core::StartLocal& a);
  void On(NodeId node, core::RestartLocal& a);
  void On(NodeId node, core::SignalLocal& a);
  void On(NodeId node, core::KillLocal& a);
  void On(NodeId node, core::ForgetLocal& a);
  void On(NodeId node, core::CreditOutput& a);
  void On(NodeId node, core::ResendOutput& a) { ReportAgain(node, a.nspace); }
  void On(NodeId node, core::PersistRecord& a);
  // The answer has no job data. The memory that it gives for a process is the
  // process's pid.
  void On(NodeId node, core::ReadFacts& a);

  // Makes a running process write to one of its streams.
  void Write(const ProcId& proc, uint16_t channel, std::string data);
  // Makes the process end by itself; does nothing if it does not run.
  // `wait_status` is as from waitpid.
  void Exit(const ProcId& proc, int wait_status);
  bool IsRunning(const ProcId& proc) const;
  std::vector<ProcId> RunningOn(NodeId node) const;
  // Returns the number of signals that a process has received.
  uint32_t signals(const ProcId& proc) const;
  // Returns how often the process has received the signal `number`.
  uint32_t signals(const ProcId& proc, int number) const;

  // Removes the shims and processes of a machine that fails.
  void Reset(NodeId node);
  // Returns the jobs that have a shim on the node.
  std::vector<std::string> JobsOn(NodeId node) const;
  // Adds the state that a job's shim keeps for a successor agent.
  void AddRecovered(NodeId node, const std::string& nspace,
                    core::JobRecovered* out) const;
  // Reports as after a reattach: output without credit, ends of streams, then
  // all exits.
  void ReportAgain(NodeId node, const std::string& nspace);
  void AddLeftovers(NodeId node, std::vector<std::string>* out) const;

  // Makes room for the next node.
  void AddNode() { nodes_.emplace_back(); }

 private:
  struct Shim {
    bool started = false;
    std::vector<core::PersistedRecord> journal;  // oldest first
    std::vector<core::LocalOutput> output;       // not yet covered by credit
    uint64_t output_end = 0;
    uint64_t credit = 0;
    std::vector<core::LocalOutput> closed;
    std::vector<core::ProcExit> exits;
    std::map<Rank, uint32_t> incarnations;  // by restarted rank
  };
  struct Node {
    uint64_t boots = 0;
    std::map<std::string, Shim> shims;
    std::map<std::string, std::set<Rank>> running;
    std::map<std::string, std::shared_ptr<const JobLayout>> layouts;
  };

  std::vector<Rank> Selected(NodeId node, const std::string& nspace,
                             const std::vector<Rank>& ranks) const;
  void CloseStreams(NodeId node, const ProcId& proc);

  const Settings& settings_;
  const JobCatalog& jobs_;
  EventQueue& queue_;
  AgentInputs& inputs_;
  Random& random_;
  Errors& errors_;
  const OnProcess on_end_;
  std::vector<Node> nodes_;
  // For each shim that was started: its node, the number of the node's boot,
  // and its job.
  std::set<std::tuple<NodeId, uint64_t, std::string>> started_;
  std::map<ProcId, std::map<int, uint32_t>> signals_;  // by signal
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SHIMS_H_
