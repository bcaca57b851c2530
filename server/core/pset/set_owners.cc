#include "server/core/pset/set_owners.h"

#include <algorithm>
#include <utility>

#include "server/core/job/place.h"
#include "server/core/job/resync.h"
#include "server/core/messages.h"

namespace canopy::core {

SetOwners::SetOwners(NodeId self, const Tree& tree, const JobTable& jobs,
                     HasEnded has_ended, ProcessSets& sets)
    : self_(self),
      tree_(tree),
      jobs_(jobs),
      has_ended_(std::move(has_ended)),
      sets_(sets) {}

void SetOwners::set_began(TimeNs when) { settled_ = when + kResyncTimeout; }

std::set<std::string> SetOwners::Unknown() const {
  std::set<std::string> unknown;
  for (const auto& [name, set] : sets_.sets()) {
    if (jobs_.Find(set.owner) == nullptr) unknown.insert(set.owner);
  }
  return unknown;
}

// The agent that has announced the set has, or had, a part in the job.
NodeId SetOwners::WhoKnows(const std::string& nspace) const {
  for (const auto& [name, set] : sets_.sets()) {
    const bool there = set.owner == nspace && set.raised_at != self_ &&
                       set.raised_at < tree_.size() &&
                       tree_.alive(set.raised_at);
    if (there) return set.raised_at;
  }
  return tree_.root() == self_ ? kNoNode : tree_.root();
}

void SetOwners::Ask(const StepContext& step, const std::string& nspace) {
  if (has_ended_(nspace)) return Drop(nspace);
  const NodeId node = asked_[nspace] = WhoKnows(nspace);
  if (node == kNoNode) return;
  step.out.push_back(SendPeer{PeerMessage{self_, node, JobQuery{nspace}}});
}

void SetOwners::OnTreeChanged(const StepContext& step) {
  settled_ = step.now + kResyncTimeout;
  for (const std::string& nspace : Unknown()) Ask(step, nspace);
}

void SetOwners::OnNodeRestarted(const StepContext& step, NodeId node) {
  if (tree_.InSubtree(node, self_)) return OnTreeChanged(step);
  for (const auto& [nspace, to] : std::map(asked_)) {
    const bool lost =
        to != kNoNode && tree_.alive(to) && LeadsOver(tree_, self_, to, node);
    if (lost) Ask(step, nspace);
  }
}

// The end of a job may overtake the definitions of its sets.
void SetOwners::OnDefined(const StepContext& step, const std::string& nspace) {
  if (jobs_.Find(nspace) != nullptr) return;
  if (has_ended_(nspace)) {
    sets_.EndLate(nspace);
    return Drop(nspace);
  }
  if (step.now < settled_ && !asked_.contains(nspace)) Ask(step, nspace);
}

void SetOwners::OnOver(NodeId src, const std::string& nspace) {
  const auto asked = asked_.find(nspace);
  if (asked != asked_.end() && asked->second == src) Drop(nspace);
}

void SetOwners::OnAuthoritative() {
  for (const auto& [nspace, node] : std::map(asked_)) {
    if (node == kNoNode && jobs_.Find(nspace) == nullptr) Drop(nspace);
  }
}

void SetOwners::Drop(const std::string& nspace) {
  asked_.erase(nspace);
  sets_.Drop(nspace);
  Post(SetsDropped{nspace});
}

}  // namespace canopy::core
