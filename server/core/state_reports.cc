#include "server/core/state_reports.h"

#include <algorithm>
#include <utility>

namespace canopy::core {

StateReports::StateReports(NodeId self, const Tree& tree, Describe describe)
    : self_(self), tree_(tree), describe_(std::move(describe)) {}

void StateReports::Done(const Question& question, Actions* actions) {
  actions->push_back(StateCollected{question.request, kNoNode, {}, true});
}

void StateReports::OnRequested(TimeNs now, const StateRequested& in,
                               Actions* actions) {
  Question question{in.request, {}, now + kStateTimeout};
  const uint64_t number = next_++;
  const StateAnswer own = describe_(now, in.what, in.nspace);
  actions->push_back(
      StateCollected{in.request, self_, Bytes(EncodeStateAnswer(own)), false});
  for (NodeId node = 0; node < tree_.size(); ++node) {
    if (node == self_ || !tree_.alive(node)) continue;
    question.awaited.insert(node);
    actions->push_back(SendPeer{
        PeerMessage{self_, node, StateQuery{number, in.what, in.nspace}}});
  }
  if (question.awaited.empty()) return Done(question, actions);
  questions_.emplace(number, std::move(question));
}

void StateReports::OnQuery(TimeNs now, NodeId src, const StateQuery& query,
                           Actions* actions) {
  const StateAnswer own = describe_(now, query.what, query.nspace);
  const StateReply reply{query.request, Bytes(EncodeStateAnswer(own))};
  actions->push_back(SendPeer{PeerMessage{self_, src, reply}});
}

void StateReports::OnReply(NodeId src, const StateReply& reply,
                           Actions* actions) {
  const auto it = questions_.find(reply.request);
  if (it == questions_.end() || it->second.awaited.erase(src) == 0) return;
  actions->push_back(
      StateCollected{it->second.request, src, reply.answer, false});
  if (!it->second.awaited.empty()) return;
  Done(it->second, actions);
  questions_.erase(it);
}

void StateReports::OnNodeLost(TimeNs now, const NodeStateChanged& in,
                              Actions* actions) {
  OnNodeRestarted(now, in.node, actions);
}

// The node's new agent does not know the question.
void StateReports::OnNodeRestarted(TimeNs, NodeId node, Actions* actions) {
  for (auto it = questions_.begin(); it != questions_.end();) {
    Question& question = it->second;
    if (question.awaited.erase(node) > 0 && question.awaited.empty()) {
      Done(question, actions);
      it = questions_.erase(it);
    } else {
      ++it;
    }
  }
}

void StateReports::OnTick(TimeNs now, Actions* actions) {
  std::erase_if(questions_, [&](const auto& item) {
    if (item.second.deadline > now) return false;
    Done(item.second, actions);
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
