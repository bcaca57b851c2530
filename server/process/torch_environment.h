// The variables by which programs of torch.distributed, and of others that
// follow it, find each other; see docs/torch.md.
#ifndef CANOPY_SERVER_PROCESS_TORCH_ENVIRONMENT_H_
#define CANOPY_SERVER_PROCESS_TORCH_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/step/process_actions.h"

namespace canopy::process {

// NAME=VALUE, the same for all ranks, and of one rank of this node. None for a
// job without a rendezvous host.
std::vector<std::string> TorchJobVariables(const JobSpec& job);
std::vector<std::string> TorchRankVariables(const core::PrepareLocal& prepare,
                                            Rank rank);
// Of another process of a rank.
std::string TorchRestartVariable(uint32_t incarnation);
// Known when all nodes are prepared.
std::string TorchPortVariable(uint16_t port);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_TORCH_ENVIRONMENT_H_
