// The data of ranks that collectives carry between nodes.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_DATA_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_DATA_H_

#include <string>
#include <vector>

#include "server/core/collective/series.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/modex/modex.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Returns this node's contribution: the changes of each local member's data
// since the acknowledged version. Records the versions in the instance.
Bytes OwnData(const Series& series, const ModexStore& modex,
              Instance* instance);

// Returns the data that local members of a group have committed for other nodes
// when they arrived at its construct, in the format of ModexWriter.
std::string MembersData(const Series& series, const Instance& instance,
                        const ModexStore& modex);
// Returns the contributions to a construct that contain data of members
// (MembersData), each reduced to these data. `Contribution::data` of the result
// is in the format of ModexReader.
Contributions MembersDataOf(const Contributions& contributions);

// Stores and publishes the data that other nodes have contributed. A node may
// supply only data of its own ranks; other data is ignored, and malformed data
// is logged.
void PublishData(const StepContext& step, NodeId self,
                 const Contributions& contributions, const JobTable& jobs,
                 ModexStore* modex);

// Returns the data of a collective, regenerated from this agent's data of each
// participant. Receivers may already have newer data from other sources.
std::vector<NodeContribution> DataKnown(const Series& series, NodeId self,
                                        const JobTable& jobs,
                                        const ModexStore& modex);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_DATA_H_
