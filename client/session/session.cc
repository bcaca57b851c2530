#include "client/session/session.h"

#include <utility>

namespace canopy::client {

Session::Session(Bootstrap bootstrap, bool external_progress)
    : self_(bootstrap.self),
      server_(bootstrap.server),
      namespaces_(bootstrap.self.nspace, std::move(bootstrap.job)),
      lookup_(self_, namespaces_, store_),
      progress_(external_progress),
      events_(
          this,
          [this](Progress::Task task) { progress_.Post(std::move(task)); },
          [this] { return progress_.InTask(); }),
      fences_(std::move(bootstrap.barrier)),
      commits_(std::move(bootstrap.commits)),
      servers_(&bootstrap, {server_, namespaces_, fences_, commits_,
                            subscriptions_, seen_, events_, progress_}) {}

Session::~Session() {
  servers_.Close();
  // The progress thread is stopped before the channel and the handlers are
  // destroyed, because tasks use them.
  progress_.Stop();
  pulls_.Clear();
}

bool Session::OnSameNode(const ProcId& proc) const {
  if (IsServer(proc)) return true;
  const JobView* job = namespaces_.Find(proc.nspace);
  if (job == nullptr || !IsProcessRank(proc.rank)) return false;
  const uint32_t node = job->NodeOf(proc.rank);
  return node != kNoNode && node == job->self_node();
}

}  // namespace canopy::client
