// The placement of a job's processes, for the replies to `canopy run` and
// `canopy ps`.
#ifndef CANOPY_SERVER_CONTROL_JOB_MAP_H_
#define CANOPY_SERVER_CONTROL_JOB_MAP_H_

#include "common/job.h"
#include "protos/control.pb.h"

namespace canopy::control {

// Adds the job's nodes to `nodes`, in the job's order, each with its slots and
// processes.
void FillJobMap(const JobSpec& job,
                google::protobuf::RepeatedPtrField<v1::MapNode>* nodes);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_JOB_MAP_H_
