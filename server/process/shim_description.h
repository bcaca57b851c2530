// Describes a job to its shim.
#ifndef CANOPY_SERVER_PROCESS_SHIM_DESCRIPTION_H_
#define CANOPY_SERVER_PROCESS_SHIM_DESCRIPTION_H_

#include <vector>

#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/process_actions.h"
#include "server/process/process_context.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Returns the description of the job without its ranks.
PrepareJob DescribeJob(const ProcessContext& context,
                       const core::PrepareLocal& prepare);

// Returns the description of one rank of this node. Appends the descriptors
// that the rank inherits to `fds`, in the order of fd_names.
RankSpec DescribeRank(const ProcessContext& context,
                      const core::PrepareLocal& prepare, Rank rank,
                      std::vector<UniqueFd>* fds);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_DESCRIPTION_H_
