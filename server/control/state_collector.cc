#include "server/control/state_collector.h"

#include <utility>

#include "server/core/step/control_inputs.h"

namespace canopy::control {

void StateCollector::Collect(const std::string& what, const std::string& nspace,
                             Done done) {
  const auto [same, is_new] =
      in_progress_.try_emplace(Subject(what, nspace), next_);
  Collection& collection = collections_[same->second];
  collection.done.push_back(std::move(done));
  if (!is_new) return;
  collection.subject = same->first;
  const uint64_t id = next_++;
  sink_->OnInput(core::StateRequested{id, what, nspace});
}

void StateCollector::OnCollected(const core::StateCollected& state) {
  const auto it = collections_.find(state.request);
  if (it == collections_.end()) return;
  if (!state.done) {
    it->second.answers.push_back(state);
    return;
  }
  const auto collection = collections_.extract(it);
  in_progress_.erase(collection.mapped().subject);
  for (const Done& done : collection.mapped().done) {
    done(collection.mapped().answers);
  }
}

}  // namespace canopy::control
