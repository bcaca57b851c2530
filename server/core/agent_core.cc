#include "server/core/agent_core.h"

#include <utility>

#include "server/core/dispatch/dispatch.h"
#include "server/core/dispatch/engines.h"
#include "server/core/dispatch/propagation.h"

namespace canopy::core {

struct AgentCore::State {
  explicit State(CoreConfig config) : engines(std::move(config)) {}

  void UpdateDeadline() {
    const TimeNs next = engines.NextDeadline();
    // A deadline that has passed counts as consumed, whichever input caused
    // this step.
    if (next == deadline && deadline > engines.now) return;
    if (next == kNever && deadline == kNever) return;
    deadline = next;
    engines.out.push_back(SetDeadline{next});
  }

  Engines engines;
  TimeNs deadline = kNever;
};

AgentCore::AgentCore(CoreConfig config)
    : state_(std::make_unique<State>(std::move(config))) {}

AgentCore::~AgentCore() = default;

Actions AgentCore::Step(TimeNs now, const Input& input) {
  State& state = *state_;
  state.engines.now = now;
  Dispatch(state.engines, input);
  PropagateChanges(state.engines);
  state.UpdateDeadline();
  return std::exchange(state.engines.out, {});
}

ResourceCounts AgentCore::Count() const { return state_->engines.Count(); }

}  // namespace canopy::core
