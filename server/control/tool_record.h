// What stands for a tool where a job that spawns is expected.
#ifndef CANOPY_SERVER_CONTROL_TOOL_RECORD_H_
#define CANOPY_SERVER_CONTROL_TOOL_RECORD_H_

#include "common/ids.h"
#include "server/control/families.h"
#include "server/control/job_record.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// A record that is in no family: of a job of this process's user without
// processes, with this process's environment, but for what is said of a job,
// and all nodes of the overlay as its allocation.
JobRecord ToolRecord(const ProcId& tool);

// The tool is gone: the families of the jobs that it has spawned end, but for
// what goes on without a launcher (PMIX_NOHUP).
void EndJobsOfTool(const ProcId& tool, Families* families, InputSink* sink);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_TOOL_RECORD_H_
