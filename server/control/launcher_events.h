// What a launcher is told of a job.
#ifndef CANOPY_SERVER_CONTROL_LAUNCHER_EVENTS_H_
#define CANOPY_SERVER_CONTROL_LAUNCHER_EVENTS_H_

#include <cstdint>
#include <string>

#include "common/job.h"
#include "common/status.h"
#include "protos/control.pb.h"
#include "server/control/placements.h"
#include "server/core/step/control_actions.h"

namespace canopy::control {

v1::RunEvent MappedEvent(const JobSpec& job);
// `grace_ms`: as in JobMapped.
v1::RunEvent QueuedEvent(const QueuedJob& job, uint32_t grace_ms);
// What a launcher that asks for it anew says; of a job that a scheduler has
// placed.
v1::JobRequeued RequeuedOf(const PlacementFacts& placed,
                           const std::string& reason);
v1::RunEvent ProgressEvent(const JobSpec& job, const core::JobChanged& change);
// Of the notes of the change, which has some.
v1::RunEvent NotesEvent(const JobSpec& job, const core::JobChanged& change);
v1::JobEnd EndOf(const core::JobChanged& change);
// How the job ended, of what EndOf made.
core::JobChanged ChangeOf(const v1::JobEnd& end);
// The end of a launch that never came to a job, for the reason given.
v1::JobEnd EndOf(const Status& refusal);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_LAUNCHER_EVENTS_H_
