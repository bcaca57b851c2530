#include "server/core/state_reports.h"

#include <algorithm>
#include <utility>

namespace canopy::core {

StateReports::StateReports(NodeId self, const Tree& tree, Describe describe)
    : self_(self), tree_(tree), describe_(std::move(describe)) {}

void StateReports::Done(const StepContext& step, const Question& question) {
  step.out.push_back(StateCollected{question.request, kNoNode, {}, true});
}

void StateReports::OnRequested(const StepContext& step,
                               const StateRequested& in) {
  Question question{in.request, {}, step.now + kStateTimeout};
  const uint64_t number = next_++;
  const StateAnswer own = describe_(step.now, in.what, in.nspace);
  step.out.push_back(
      StateCollected{in.request, self_, Bytes(EncodeStateAnswer(own)), false});
  for (NodeId node = 0; node < tree_.size(); ++node) {
    if (node == self_ || !tree_.alive(node)) continue;
    question.awaited.insert(node);
    step.out.push_back(SendPeer{
        PeerMessage{self_, node, StateQuery{number, in.what, in.nspace}}});
  }
  if (question.awaited.empty()) return Done(step, question);
  questions_.emplace(number, std::move(question));
}

void StateReports::OnQuery(const StepContext& step, NodeId src,
                           const StateQuery& query) {
  const StateAnswer own = describe_(step.now, query.what, query.nspace);
  const StateReply reply{query.request, Bytes(EncodeStateAnswer(own))};
  step.out.push_back(SendPeer{PeerMessage{self_, src, reply}});
}

void StateReports::OnReply(const StepContext& step, NodeId src,
                           const StateReply& reply) {
  const auto it = questions_.find(reply.request);
  if (it == questions_.end() || it->second.awaited.erase(src) == 0) return;
  step.out.push_back(
      StateCollected{it->second.request, src, reply.answer, false});
  if (!it->second.awaited.empty()) return;
  Done(step, it->second);
  questions_.erase(it);
}

void StateReports::OnNodeLost(const StepContext& step,
                              const NodeStateChanged& in) {
  OnNodeRestarted(step, in.node);
}

// Stops waiting for the node, because its new agent has not received the query.
void StateReports::OnNodeRestarted(const StepContext& step, NodeId node) {
  for (auto it = questions_.begin(); it != questions_.end();) {
    Question& question = it->second;
    if (question.awaited.erase(node) > 0 && question.awaited.empty()) {
      Done(step, question);
      it = questions_.erase(it);
    } else {
      ++it;
    }
  }
}

void StateReports::OnTick(const StepContext& step) {
  std::erase_if(questions_, [&](const auto& item) {
    if (item.second.deadline > step.now) return false;
    Done(step, item.second);
    return true;
  });
}

TimeNs StateReports::NextDeadline() const {
  TimeNs next = kNever;
  for (const auto& [number, question] : questions_) {
    next = std::min(next, question.deadline);
  }
  return next;
}

}  // namespace canopy::core
