// Changes of the tree: nodes are lost and return, and the agents' views diverge
// for a while.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "server/core/job_engine.h"

namespace canopy::core {
namespace {

// Jobs with a deferred JobPrepare, at a time.
constexpr size_t kMaxDeferredJobs = 65536;
// Jobs unknown here about which other agents inquire, at a time.
constexpr size_t kMaxInquiries = 4096;

}  // namespace

void JobEngine::OnNodeLost(TimeNs now, NodeId node, const std::string& reason,
                           Actions* actions) {
  StepContext step{now, *actions};
  MarkSynced(node);
  if (tree_.root() == self_ && tree_.children(self_).empty()) {
    for (NodeId n = 0; n < tree_.size(); ++n) {
      if (n != self_) unconfirmed_members_.insert(n);
    }
    confirm_deadline_ = kNever;
    // Jobs that ended on this side of a partition may still run on the
    // controller's side.
    ended_everywhere_.clear();
  }
  std::vector<std::string> names;
  for (const auto& [nspace, job] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    JobState& job = *jobs_.at(nspace);
    MarkNodeEnded(job, node);
    if (job.dropping) continue;
    if (node == job.controller) {
      OnControllerLost(step, job, reason);
      continue;
    }
    MarkNodeLost(step, job, node, reason);
    Advance(step, job);
  }
  ReleaseDeferred(step);
}

// The node may route between other agents.
void JobEngine::OnNodeReturned(TimeNs now, Actions* actions) {
  StepContext step{now, *actions};
  std::erase_if(unconfirmed_members_, [&](NodeId n) { return tree_.alive(n); });
  confirm_deadline_ =
      unconfirmed_members_.empty() ? kNever : now + kResyncTimeout;
  std::vector<std::string> names;
  for (const auto& [nspace, job] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    JobState& job = *jobs_.at(nspace);
    if (job.dropping) continue;
    Reshape(step, job);
    Advance(step, job);
  }
  ReleaseDeferred(step);
}

// A part in a job is assigned by the parent. When the sender is not the parent
// in this agent's view, the two views have not converged yet.
bool JobEngine::DefersPrepare(NodeId src, NodeId controller) const {
  if (controller == kNoNode) controller = tree_.root();
  return JobParent(tree_, self_, controller) != src;
}

void JobEngine::DeferPrepare(StepContext& step, NodeId src,
                             const std::string& nspace, const JobPrepare& m) {
  if (deferred_.size() >= kMaxDeferredJobs && !deferred_.contains(nspace))
    return;
  deferred_[nspace] = {{src, m}};
  // Subscribes to the job's end, even if the sender never becomes the parent.
  Send(step, src, JobExits{nspace, {}});
}

std::vector<PeerMessage> JobEngine::TakeReleased() {
  return std::exchange(released_, {});
}

// Only the controller knows that a job has ended; another agent may not have
// learned of the job yet.
void JobEngine::QueryWhetherOver(StepContext& step, NodeId src,
                                 const std::string& nspace) {
  if (IsAuthoritative() || std::ranges::count(ended_everywhere_, nspace) > 0) {
    return Send(step, src, JobForget{nspace});
  }
  if (inquirers_.size() >= kMaxInquiries && !inquirers_.contains(nspace))
    return;
  if (inquirers_[nspace].insert(src).second && self_ != tree_.root()) {
    Send(step, tree_.root(), JobExits{nspace, {}});
  }
}

bool JobEngine::IsAuthoritative() const {
  if (self_ != tree_.root() || !unsynced_members_.empty()) return false;
  return unconfirmed_members_.empty() || *unconfirmed_members_.begin() > self_;
}

void JobEngine::ReleaseDeferred(StepContext& step) {
  for (auto& [nspace, agents] : inquirers_) {
    std::erase_if(agents, [&](NodeId n) { return !tree_.alive(n); });
    if (self_ != tree_.root()) {
      Send(step, tree_.root(), JobExits{nspace, {}});
      continue;
    }
    if (!IsAuthoritative()) continue;
    for (const NodeId agent : agents) Send(step, agent, JobForget{nspace});
    agents.clear();
  }
  std::erase_if(inquirers_,
                [](const auto& item) { return item.second.empty(); });
  for (auto& [nspace, deferred] : std::exchange(deferred_, {})) {
    for (auto& [src, body] : deferred) {
      if (tree_.alive(src)) released_.push_back({src, self_, std::move(body)});
    }
  }
}

}  // namespace canopy::core
