#include "server/core/collective/collective_messages.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/status.h"

namespace canopy::core {
namespace {

// Appends the release of a client. Consecutive releases with the same status
// share an action.
void Release(const StepContext& step, ClientId client, int status) {
  ReleaseFence* last =
      step.out.empty() ? nullptr : std::get_if<ReleaseFence>(&step.out.back());
  if (last != nullptr && last->status == status) {
    return last->clients.push_back(client);
  }
  step.out.push_back(ReleaseFence{status, {client}});
}

}  // namespace

CollectiveUp ContributionsUp(const Series& series, uint64_t sequence,
                             int status, const Contributions& contributions) {
  CollectiveUp up{series.id, status, {}, {}};
  up.id.sequence = sequence;
  for (const auto& [node, contribution] : contributions) {
    up.contributions.push_back({node, contribution.data});
  }
  return up;
}

CollectiveUp FailureUp(const Series& series, uint64_t sequence, int status,
                       std::vector<ProcId> missing) {
  CollectiveUp up{series.id, status, {}, std::move(missing)};
  up.id.sequence = sequence;
  return up;
}

void SendTo(const StepContext& step, NodeId self, NodeId to, MessageBody body) {
  step.out.emplace_back(SendPeer{PeerMessage{self, to, std::move(body)}});
}

void Reply(const StepContext& step, const CollectiveArrived& in, int status) {
  if (in.at_barrier) return Release(step, in.client, status);
  step.out.push_back(ReplyClient{in.client, in.request, status, {}});
}

void Reply(const StepContext& step, const CollectiveWaiter& waiter,
           int status) {
  if (waiter.at_barrier) return Release(step, waiter.client, status);
  step.out.push_back(ReplyClient{waiter.client, waiter.request, status, {}});
}

void ReplyTo(const StepContext& step, const CollectiveWaiter& waiter,
             const CollectiveAnswer& answer) {
  if (std::ranges::binary_search(answer.missing, waiter.proc)) {
    return Reply(step, waiter, kErrUnreach);
  }
  if (waiter.at_barrier) return Release(step, waiter.client, answer.status);
  step.out.push_back(ReplyClient{waiter.client, waiter.request, answer.status,
                                 answer.payload});
}

}  // namespace canopy::core
