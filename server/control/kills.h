// Requests to the core that end several jobs.
#ifndef CANOPY_SERVER_CONTROL_KILLS_H_
#define CANOPY_SERVER_CONTROL_KILLS_H_

#include <string>

#include "common/job.h"
#include "server/control/families.h"
#include "server/control/family.h"
#include "server/control/job_record.h"
#include "server/core/step/control_inputs.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Requests `kill` for every job of the family.
void KillFamily(Family* family, core::KillRequested kill, InputSink* sink);

// Requests the end of those jobs of an abandoned family that end with its
// launcher (Families::Abandon).
void KillAbandoned(const Families& families, Family* family,
                   const std::string& reason, InputSink* sink);

// Requests the end of those of `jobs` that end because another job has failed
// (ConsequencesOf).
void KillConsequences(const JobSpec& failed, const LaunchFacts& facts,
                      bool with_parent, const JobRecords& jobs,
                      InputSink* sink);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_KILLS_H_
