// AgentCore: the thinking part of an agent. No socket, thread, lock, file or
// clock; one call takes what happened and returns what is to be done.
#ifndef CANOPY_SERVER_CORE_AGENT_CORE_H_
#define CANOPY_SERVER_CORE_AGENT_CORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/core/step.h"

namespace canopy::core {

struct CoreConfig {
  NodeId self = 0;
  std::vector<std::string> node_names;  // index = NodeId
  uint32_t radix = 32;
  // Handed out with this agent's state (why.h) and otherwise not looked at:
  // what the agent's main wants to tell about itself.
  std::string about;
};

// Owned and called by one loop thread. Deterministic: the same inputs at the
// same times give the same actions.
class AgentCore {
 public:
  explicit AgentCore(CoreConfig config);
  ~AgentCore();
  AgentCore(const AgentCore&) = delete;
  AgentCore& operator=(const AgentCore&) = delete;

  Actions Step(TimeNs now, Input input);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_AGENT_CORE_H_
