// Makes the messages about a collective between agents, and the replies to
// clients.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_MESSAGES_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_MESSAGES_H_

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "server/core/collective/group_result.h"
#include "server/core/collective/series.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Returns a message to the parent with `contributions`. `status` is kSuccess or
// kAlreadyReleased.
CollectiveUp ContributionsUp(const Series& series, uint64_t sequence,
                             int status, const Contributions& contributions);
// Returns a report to the parent that the collective can no longer succeed.
CollectiveUp FailureUp(const Series& series, uint64_t sequence, int status,
                       std::vector<ProcId> missing);
// Appends to the step a message to an agent.
void SendTo(const StepContext& step, NodeId self, NodeId to, MessageBody body);
// Reply without a result to an arrival, or to a process that waits. The reply
// is appended to the step.
void Reply(const StepContext& step, const CollectiveArrived& in, int status);
void Reply(const StepContext& step, const CollectiveWaiter& waiter, int status);
// Replies to the waiter. A process that is not a member of the group gets
// PMIX_ERR_UNREACH.
void ReplyTo(const StepContext& step, const CollectiveWaiter& waiter,
             const CollectiveAnswer& answer);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_MESSAGES_H_
