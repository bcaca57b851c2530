// A substitute for the job record of a spawner that is a tool.
#ifndef CANOPY_SERVER_CONTROL_TOOL_RECORD_H_
#define CANOPY_SERVER_CONTROL_TOOL_RECORD_H_

#include "common/ids.h"
#include "server/control/families.h"
#include "server/control/job_record.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Returns a record that belongs to no family. Its job has no processes, and all
// nodes of the overlay as its allocation. It belongs to the owner of the tool,
// or without one to this process's user. For this user, it has this process's
// environment without the variables that describe a job; for others, only a
// PATH.
JobRecord ToolRecord(const Spawner& tool);

// Called when the tool is gone. Ends the families of the jobs that the tool has
// spawned, except the jobs that continue without a launcher (PMIX_NOHUP).
void EndJobsOfTool(const ProcId& tool, Families* families, InputSink* sink);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_TOOL_RECORD_H_
