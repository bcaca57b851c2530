// Stand-ins for both ends of jobs' standard input.
#ifndef CANOPY_TESTS_SIM_STANDARD_INPUT_H_
#define CANOPY_TESTS_SIM_STANDARD_INPUT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/process_actions.h"
#include "tests/sim/agent_inputs.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/jobs.h"
#include "tests/sim/oracle.h"
#include "tests/sim/random.h"
#include "tests/sim/settings.h"

namespace canopy::sim {

// The launcher's end of each job retains the input that some process has not
// read, and offers it again after it has reattached. The shims' end passes each
// byte on once, by its position, reports how much was read, and survives its
// agent. The oracle compares the input read with the input offered.
class StandardInput {
 public:
  // All references must outlive this object.
  StandardInput(uint32_t nodes, const Settings& settings,
                const JobCatalog& jobs, EventQueue& queue, AgentInputs& inputs,
                Random& random, Oracle& oracle);

  // Called when a job is launched.
  void Open(const std::string& nspace, NodeId controller);
  // Offers `bytes` more of a job's input; not allowed after Close.
  void Offer(const std::string& nspace, uint64_t bytes);
  void Close(const std::string& nspace);

  void On(NodeId node, core::InputConsumed& a);
  void On(NodeId node, core::FeedInput& a);
  void On(NodeId node, core::ForgetLocal& a) { sinks_[node].erase(a.nspace); }

  // Returns the number of bytes that the launcher retains.
  uint64_t retained(const std::string& nspace) const;

  // Removes the shims of a machine that fails, and detaches the launchers at
  // its agent.
  void Reset(NodeId node);
  // Called when the agent fails without its machine.
  void LoseAgent(NodeId node);
  // Makes a shim report to a successor how much its processes have read.
  void ReportAgain(NodeId node, const std::string& nspace);
  // Returns the position from which the job's launcher can offer its input
  // again; no value for a job without input.
  std::optional<uint64_t> BeginOf(const std::string& nspace) const;
  // Offers the input again from that position, after the launcher has
  // reattached.
  void OfferAgain(const std::string& nspace);

  // Makes room for the next node.
  void AddNode() { sinks_.emplace_back(); }

 private:
  struct Source {
    NodeId controller = kNoNode;
    bool attached = true;
    uint64_t begin = 0;  // begin of the retained input
    uint64_t end = 0;
    bool closed = false;
  };
  struct Sink {
    uint64_t taken = 0;  // by the shim
    uint64_t read = 0;   // by the processes
    bool closed = false;
  };

  void Send(const std::string& nspace, uint64_t begin);
  void SendEnd(const std::string& nspace);
  void PassOn(NodeId node, const core::FeedInput& a, uint64_t bytes);

  const Settings& settings_;
  const JobCatalog& jobs_;
  EventQueue& queue_;
  AgentInputs& inputs_;
  Random& random_;
  Oracle& oracle_;
  std::map<std::string, Source> sources_;
  std::vector<std::map<std::string, Sink>> sinks_;  // by node
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_STANDARD_INPUT_H_
