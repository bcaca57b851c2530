#include "server/core/publish/peer_calls.h"

#include <vector>

namespace canopy::core {

void PeerCalls::OnAnswer(PublishStep& step, NodeId src,
                         const DirectoryAnswer& answer) {
  const auto it = calls_.find(answer.request);
  if (it == calls_.end() || it->second.to != src) return;
  const Done done = std::move(it->second.done);
  calls_.erase(it);
  done(step, answer.status);
}

void PeerCalls::OnNodeLost(PublishStep& step, NodeId node) {
  std::vector<Done> ended;
  std::erase_if(calls_, [&](auto& call) {
    if (call.second.to != node) return false;
    ended.push_back(std::move(call.second.done));
    return true;
  });
  for (const Done& done : ended) done(step, kErrUnreach);
}

void PeerCalls::SendAgain(PublishStep& step) const {
  for (const auto& [number, call] : calls_) step.Send(call.to, call.body);
}

}  // namespace canopy::core
