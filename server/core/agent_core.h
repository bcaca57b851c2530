// AgentCore: the deterministic state machine of an agent. It uses no socket,
// thread, lock, file or clock: one call takes an input and returns the actions
// that it causes.
#ifndef CANOPY_SERVER_CORE_AGENT_CORE_H_
#define CANOPY_SERVER_CORE_AGENT_CORE_H_

#include <memory>

#include "server/core/core_config.h"
#include "server/core/resource_counts.h"
#include "server/core/step/action.h"
#include "server/core/step/input.h"

namespace canopy::core {

// Owned and called by one loop thread. The same inputs at the same times
// produce the same actions.
class AgentCore {
 public:
  explicit AgentCore(CoreConfig config);
  ~AgentCore();
  AgentCore(const AgentCore&) = delete;
  AgentCore& operator=(const AgentCore&) = delete;

  // Handles one input and returns the actions that it causes. `now` is in
  // nanoseconds and never decreases.
  Actions Step(TimeNs now, const Input& input);
  ResourceCounts Count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_AGENT_CORE_H_
