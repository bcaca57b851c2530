// What a simulated cluster did, for tests.
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

namespace canopy::sim {

class Observations {
 public:
  void On(NodeId, core::StateCollected& a) { states_.push_back(a); }
  void On(NodeId, core::LogLine& a) { log_.push_back(a.text); }
  // A message has come to a node; `kind`: index in core::MessageBody.
  void CountMessage(NodeId node, size_t kind) { ++messages_[{kind, node}]; }

  // Messages that a node has got.
  uint64_t received(NodeId node, size_t kind) const;
  // Messages that all nodes have got.
  uint64_t messages(size_t kind) const;
  const std::vector<core::StateCollected>& states() const { return states_; }
  const std::vector<std::string>& log() const { return log_; }

 private:
  std::map<std::pair<size_t, NodeId>, uint64_t> messages_;
  std::vector<core::StateCollected> states_;
  std::vector<std::string> log_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_OBSERVATIONS_H_
