// Converts the agent's data about jobs and calls to messages of the service.
#ifndef CANOPY_SERVER_SCHEDULER_MESSAGES_H_
#define CANOPY_SERVER_SCHEDULER_MESSAGES_H_

#include <cstdint>
#include <string>

#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/core/step/control_actions.h"
#include "server/ports/job_commands_port.h"
#include "server/ports/placement_port.h"

namespace canopy::scheduler {

// Pure functions. Texts of users or programs are made valid UTF-8, which
// `string` fields require.
void PutPlacement(const PlacementId& id, hostmodule::v1::Placement* out);
void PutCaller(const PlacementCaller& caller, hostmodule::v1::Caller* out);
// `now` is EventLoop::Now() at the time `now_ms`, in milliseconds since 1970.
// `here` is the name of the root agent's node.
hostmodule::v1::PlaceJobRequest ToMessage(const PlacementRequest& request,
                                          const std::string& here, int64_t now,
                                          int64_t now_ms);
PlacementQueued FromMessage(const hostmodule::v1::Queued& queued);
// Return an error with one line of explanation for an invalid message:
// kErrUnpackFailure for a grant, also for that of a launch, and kErrBadParam
// for the other parts of a launch.
Result<PlacementGrant> FromMessage(const hostmodule::v1::Granted& granted);
Result<HostLaunch> FromMessage(const hostmodule::v1::LaunchJob& launch);

// A report contains the present state of a running job, and a record the whole
// history of a job that has ended.
hostmodule::v1::JobReport ReportOf(const PlacedJob& job,
                                   hostmodule::v1::JobState state,
                                   uint32_t procs_ended);
hostmodule::v1::JobState StateOf(core::JobPhase phase);
hostmodule::v1::JobRecord RecordOf(const PlacedJob& job, const PlacedEnd& end);

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_MESSAGES_H_
