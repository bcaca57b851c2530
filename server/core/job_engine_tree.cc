// The tree changes: nodes are lost and return, and for a while agents see it
// differently.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "server/core/job_engine.h"

namespace canopy::core {
namespace {

// Jobs whose JobPrepare came too early, at a time.
constexpr size_t kMaxEarly = 65536;
// Jobs that others report of and this agent does not know, at a time.
constexpr size_t kMaxAskers = 4096;

}  // namespace

void JobEngine::OnNodeLost(TimeNs now, NodeId node, const std::string& reason,
                           Actions* actions) {
  Turn turn{now, *actions};
  LastTold(node);
  if (tree_.root() == self_ && tree_.children(self_).empty()) {
    for (NodeId n = 0; n < tree_.size(); ++n) {
      if (n != self_) unheard_.insert(n);
    }
    hearing_until_ = kNever;
    // What was over on this side may go on where the controller is.
    over_.clear();
  }
  std::vector<std::string> names;
  for (const auto& [nspace, job] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    JobState& job = *jobs_.at(nspace);
    MarkNodeEnded(job, node);
    if (job.dropping) continue;
    if (node == job.controller) {
      Orphan(turn, job, reason);
      continue;
    }
    LoseNode(turn, job, node, reason);
    Settle(turn, job);
  }
  TryAgain(turn);
}

// It may be on the way between others.
void JobEngine::OnNodeReturned(TimeNs now, Actions* actions) {
  Turn turn{now, *actions};
  std::erase_if(unheard_, [&](NodeId n) { return tree_.alive(n); });
  hearing_until_ = unheard_.empty() ? kNever : now + kHearing;
  std::vector<std::string> names;
  for (const auto& [nspace, job] : jobs_) names.push_back(nspace);
  for (const std::string& nspace : names) {
    JobState& job = *jobs_.at(nspace);
    if (job.dropping) continue;
    Reshape(turn, job);
    Settle(turn, job);
  }
  TryAgain(turn);
}

// A part in a job comes from the one above. Where that is somebody else as
// this agent sees it, one of the two does not know yet who is there.
bool JobEngine::KeepsForLater(NodeId src, NodeId controller) const {
  if (controller == kNoNode) controller = tree_.root();
  return JobParent(tree_, self_, controller) != src;
}

void JobEngine::KeepForLater(Turn& turn, NodeId src, const std::string& nspace,
                             const JobPrepare& m) {
  if (early_.size() >= kMaxEarly && !early_.contains(nspace)) return;
  early_[nspace] = {{src, m}};
  // So that it tells of the job's end, even if it never is above this one.
  Send(turn, src, JobExits{nspace, {}});
}

std::vector<PeerMessage> JobEngine::TakeKept() {
  return std::exchange(again_, {});
}

// Only the controller knows that a job is over; another agent may merely not
// have heard of it yet.
void JobEngine::AskWhetherOver(Turn& turn, NodeId src,
                               const std::string& nspace) {
  if (SpeaksForAll() || std::ranges::count(over_, nspace) > 0) {
    return Send(turn, src, JobForget{nspace});
  }
  if (askers_.size() >= kMaxAskers && !askers_.contains(nspace)) return;
  if (askers_[nspace].insert(src).second && self_ != tree_.root()) {
    Send(turn, tree_.root(), JobExits{nspace, {}});
  }
}

bool JobEngine::SpeaksForAll() const {
  if (self_ != tree_.root() || !untold_.empty()) return false;
  return unheard_.empty() || *unheard_.begin() > self_;
}

void JobEngine::TryAgain(Turn& turn) {
  for (auto& [nspace, agents] : askers_) {
    std::erase_if(agents, [&](NodeId n) { return !tree_.alive(n); });
    if (self_ != tree_.root()) {
      Send(turn, tree_.root(), JobExits{nspace, {}});
      continue;
    }
    if (!SpeaksForAll()) continue;
    for (const NodeId agent : agents) Send(turn, agent, JobForget{nspace});
    agents.clear();
  }
  std::erase_if(askers_, [](const auto& item) { return item.second.empty(); });
  for (auto& [nspace, held] : std::exchange(early_, {})) {
    for (auto& [src, body] : held) {
      if (tree_.alive(src)) again_.push_back({src, self_, std::move(body)});
    }
  }
}

}  // namespace canopy::core
