#include "server/control/state_collector.h"

#include <utility>

#include "server/core/step/control_inputs.h"

namespace canopy::control {

void StateCollector::Collect(const std::string& what, const std::string& nspace,
                             Done done) {
  const uint64_t id = next_++;
  collections_[id].done = std::move(done);
  sink_->OnInput(core::StateRequested{id, what, nspace});
}

void StateCollector::OnCollected(const core::StateCollected& state) {
  const auto it = collections_.find(state.request);
  if (it == collections_.end()) return;
  if (!state.done) {
    it->second.answers.push_back(state);
    return;
  }
  auto collection = collections_.extract(it);
  collection.mapped().done(collection.mapped().answers);
}

}  // namespace canopy::control
