// Records messages, log lines and states of a simulated cluster, for tests.
#ifndef CANOPY_TESTS_SIM_OBSERVATIONS_H_
#define CANOPY_TESTS_SIM_OBSERVATIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/log_line.h"
#include "server/core/step/usage.h"

namespace canopy::sim {

class Observations {
 public:
  void On(NodeId, core::StateCollected& a) { states_.push_back(a); }
  void On(NodeId, core::UsageTaken& a) { usage_.push_back(a); }
  void On(NodeId, core::LogLine& a) { log_.push_back(a.text); }
  // Counts a message received by a node. `kind` is its index in
  // core::MessageBody.
  void CountMessage(NodeId node, size_t kind) { ++messages_[{kind, node}]; }

  // Returns the number of messages that a node has received.
  uint64_t received(NodeId node, size_t kind) const;
  // Returns the number of messages that all nodes have received.
  uint64_t messages(size_t kind) const;
  const std::vector<core::StateCollected>& states() const { return states_; }
  const std::vector<core::UsageTaken>& usage() const { return usage_; }
  const std::vector<std::string>& log() const { return log_; }

 private:
  std::map<std::pair<size_t, NodeId>, uint64_t> messages_;
  std::vector<core::StateCollected> states_;
  std::vector<core::UsageTaken> usage_;
  std::vector<std::string> log_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_OBSERVATIONS_H_
