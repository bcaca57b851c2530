// What agents send each other about a collective, and clients get.
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

// To the parent: these contributions, with kSuccess or kAlreadyReleased.
CollectiveUp ContributionsUp(const Series& series, uint64_t sequence,
                             int status, const Contributions& contributions);
// To the parent: it cannot succeed any more.
CollectiveUp FailureUp(const Series& series, uint64_t sequence, int status,
                       std::vector<ProcId> missing);
// The release, to a neighbour: of a success with all data that it did not bring
// itself.
CollectiveDown Down(const Series& series, uint64_t sequence,
                    const CompletedCollective& completed, NodeId to);

void SendTo(StepContext& step, NodeId self, NodeId to, MessageBody body);
void Reply(StepContext& step, ClientId client, RequestId request, int status);
// Who is no member of the group gets PMIX_ERR_UNREACH.
void ReplyTo(StepContext& step, const CollectiveWaiter& waiter,
             const CollectiveAnswer& answer);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_MESSAGES_H_
