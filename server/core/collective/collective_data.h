// The data of ranks that collectives carry between nodes.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_DATA_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_DATA_H_

#include <vector>

#include "server/core/collective/series.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/modex/modex.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// What this node brings: for each local member what has changed since the
// acknowledged version. Notes the versions in the instance.
Bytes OwnData(const Series& series, const ModexStore& modex,
              Instance* instance);

// Stores and publishes what other nodes brought. A node may only supply data of
// its own ranks; anything else is ignored, and malformed data is logged.
void PublishData(StepContext& step, NodeId self,
                 const Contributions& contributions, const JobTable& jobs,
                 ModexStore* modex);

// The data of a collective, regenerated from what is known of each participant.
// Receivers may have newer data already, by other routes.
std::vector<NodeContribution> DataKnown(const Series& series, NodeId self,
                                        const JobTable& jobs,
                                        const ModexStore& modex);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_DATA_H_
