#include "server/control/start_watch.h"

#include <algorithm>
#include <utility>

#include "common/string_util.h"

namespace canopy::control {

StartWatch::StartWatch(EventLoop* loop, StateCollector* states, Print print,
                       int64_t patience_ns)
    : loop_(loop),
      states_(states),
      print_(std::move(print)),
      patience_ns_(patience_ns) {}

StartWatch::~StartWatch() {
  for (const auto& [nspace, watched] : watched_) {
    if (watched.timer != 0) loop_->CancelTimer(watched.timer);
  }
}

void StartWatch::Begin(const JobSpec& job) {
  Watched& watched = watched_[job.nspace];
  watched.nodes = job.nodes;
  Arm(job.nspace, &watched);
}

void StartWatch::End(const std::string& nspace) {
  const auto watched = watched_.extract(nspace);
  if (!watched.empty() && watched.mapped().timer != 0) {
    loop_->CancelTimer(watched.mapped().timer);
  }
}

void StartWatch::Arm(const std::string& nspace, Watched* watched) {
  watched->timer =
      loop_->AddTimer(patience_ns_, [this, nspace] { OnLate(nspace); });
}

void StartWatch::OnLate(const std::string& nspace) {
  const auto watched = watched_.find(nspace);
  if (watched == watched_.end()) return;
  watched->second.timer = 0;
  states_->Collect("status", nspace, [this, nspace](const auto& answers) {
    OnStates(nspace, answers);
  });
}

void StartWatch::OnStates(const std::string& nspace,
                          const std::vector<core::StateCollected>& answers) {
  const auto watched = watched_.find(nspace);
  if (watched == watched_.end()) return;
  std::vector<std::string> silent;
  for (const JobNode& node : watched->second.nodes) {
    const bool answered = std::ranges::any_of(
        answers, [&node](const auto& a) { return a.node == node.agent; });
    if (!answered) silent.push_back(node.name);
  }
  // If all agents have answered, the job waits for another reason, such as its
  // files.
  if (silent.empty()) return Arm(nspace, &watched->second);
  watched_.erase(watched);
  print_(nspace,
         "no answer from the agent of " + Join(silent, ", ") +
             ": the job waits for it; if the agent has ended, 'canopy up "
             "--replace' starts another one");
}

}  // namespace canopy::control
