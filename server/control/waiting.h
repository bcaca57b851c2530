// Reports of blocked operations, merged from the agents' replies.
#ifndef CANOPY_SERVER_CONTROL_WAITING_H_
#define CANOPY_SERVER_CONTROL_WAITING_H_

#include <functional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "protos/control.pb.h"
#include "server/core/step/control_actions.h"

namespace canopy::control {

using NodeName = std::function<std::string(NodeId)>;

// Merges the agents' replies to the state query "why" into `reply`. Malformed
// replies are skipped.
void FillWaiting(const std::vector<core::StateCollected>& collected,
                 const NodeName& node_name, v1::WhyReply* reply);

// Returns the operations that wait, oldest first, as one line of at most about
// 400 bytes: "fence #1 of job-1 has waited 2.1 s for job-1 rank 1 on node2".
// Returns an empty string if no operation waits.
std::string WaitingLine(const v1::WhyReply& reply);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_WAITING_H_
