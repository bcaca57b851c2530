// A substitute for the job record of a spawner that is a tool.
#ifndef CANOPY_SERVER_CONTROL_TOOL_RECORD_H_
#define CANOPY_SERVER_CONTROL_TOOL_RECORD_H_

#include "common/ids.h"
#include "server/control/families.h"
#include "server/control/job_record.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Returns a record that belongs to no family. Its job belongs to this process's
// user and has no processes; it has this process's environment without the
// variables that describe a job, and all nodes of the overlay as its
// allocation.
JobRecord ToolRecord(const ProcId& tool);

// Called when the tool is gone. Ends the families of the jobs that the tool has
// spawned, except the jobs that continue without a launcher (PMIX_NOHUP).
void EndJobsOfTool(const ProcId& tool, Families* families, InputSink* sink);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_TOOL_RECORD_H_
