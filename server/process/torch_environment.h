// The variables by which programs that use torch.distributed, or its
// conventions, find each other; see docs/torch.md.
#ifndef CANOPY_SERVER_PROCESS_TORCH_ENVIRONMENT_H_
#define CANOPY_SERVER_PROCESS_TORCH_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/process_actions.h"

namespace canopy::process {

// Return NAME=VALUE entries: the entries that all ranks share, and the entries
// of one rank of this node. Both are empty if the job has no rendezvous host.
std::vector<std::string> TorchJobVariables(const JobSpec& job);
std::vector<std::string> TorchRankVariables(const core::PrepareLocal& prepare,
                                            Rank rank);
// Returns the variable that a later process of a rank gets.
std::string TorchRestartVariable(uint32_t incarnation);
// Returns the variable for the port, which is known when all nodes are
// prepared.
std::string TorchPortVariable(uint16_t port);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_TORCH_ENVIRONMENT_H_
