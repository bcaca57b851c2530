// Events that a launcher receives about a job.
#ifndef CANOPY_SERVER_CONTROL_LAUNCHER_EVENTS_H_
#define CANOPY_SERVER_CONTROL_LAUNCHER_EVENTS_H_

#include <cstdint>
#include <string>

#include "common/job.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/job_record.h"
#include "server/control/placements.h"
#include "server/core/step/control_actions.h"

namespace canopy::control {

// Returns the event with the map of a job.
v1::RunEvent MappedEvent(const JobSpec& job);
// Like MappedEvent(job), with the output and map directives of the job's
// spawner.
v1::RunEvent MappedEvent(const JobRecord& record);
// Returns the event for a job that waits. `grace_ms` is that of v1::JobMapped.
v1::RunEvent QueuedEvent(const QueuedJob& job, uint32_t grace_ms);
// Returns the data with which a launcher requests a job again.
v1::JobRequeued RequeuedOf(const JobSpec& job, const PlacementFacts& placed,
                           const std::string& reason);
// Returns how many nodes and processes of the job are ready, started or ended.
v1::RunEvent ProgressEvent(const JobSpec& job, const core::JobChanged& change);
// Returns the change's notes about programs, of which there must be at least
// one.
v1::RunEvent NotesEvent(const JobSpec& job, const core::JobChanged& change);
v1::JobEnd EndOf(const core::JobChanged& change);
// Returns the change from which EndOf(change) has made this end.
core::JobChanged ChangeOf(const v1::JobEnd& end);
// Returns the end of a launch that failed before there was a job. `refusal` is
// the reason.
v1::JobEnd EndOf(const Status& refusal);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_LAUNCHER_EVENTS_H_
