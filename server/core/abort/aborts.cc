#include "server/core/aborts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/status.h"

namespace canopy::core {
namespace {

constexpr size_t kMaxAborts = 1024;

}  // namespace

Aborts::Aborts(NodeId self, const JobTable& jobs, const JobEngine& engine)
    : self_(self), jobs_(jobs), engine_(engine) {}

bool Aborts::MayAbort(const ProcId& source, const ProcId& target) const {
  const Job* from = jobs_.Find(source.nspace);
  const Job* to = jobs_.Find(target.nspace);
  if (from == nullptr) return false;
  return to == nullptr || from->spec->uid == to->spec->uid;
}

bool Aborts::IsThere(const ProcId& target) const {
  const Job* job = jobs_.Find(target.nspace);
  return job == nullptr || target.rank == kRankWildcard ||
         target.rank < job->spec->procs.size();
}

int Aborts::Complete(AbortMessage* message) const {
  for (ProcId& target : message->targets) {
    if (target.nspace.empty()) target.nspace = message->source.nspace;
    if (!MayAbort(message->source, target)) return kErrNoPermissions;
    if (!IsThere(target)) return kErrBadParam;
  }
  return kSuccess;
}

Aborts::Sent Aborts::Send(const AbortMessage& message, Actions* actions) const {
  std::set<NodeId> to;
  if (message.targets.empty()) {
    to.insert(engine_.ControllerOf(message.source.nspace));
  }
  for (const ProcId& target : message.targets) {
    to.insert(engine_.ControllerOf(target.nspace));
  }
  const bool here = to.erase(self_) > 0;
  for (const NodeId node : to) {
    actions->push_back(SendPeer{PeerMessage{self_, node, message}});
  }
  return {here, !to.empty()};
}

void Aborts::Retain(AbortMessage message) {
  retained_.push_back(std::move(message));
  if (retained_.size() > kMaxAborts) retained_.pop_front();
}

void Aborts::OnJobRemoved(const std::string& nspace) {
  std::erase_if(retained_, [&](const AbortMessage& abort) {
    return abort.source.nspace == nspace;
  });
}

bool TargetsItself(const AbortMessage& message) {
  if (message.targets.empty()) return true;
  const ProcId& source = message.source;
  return std::ranges::any_of(message.targets, [&](const ProcId& target) {
    return target.nspace == source.nspace &&
           (target.rank == kRankWildcard || target.rank == source.rank);
  });
}

}  // namespace canopy::core
