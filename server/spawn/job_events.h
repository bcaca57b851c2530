// The events by which a spawner learns what becomes of a job.
#ifndef CANOPY_SERVER_SPAWN_JOB_EVENTS_H_
#define CANOPY_SERVER_SPAWN_JOB_EVENTS_H_

#include <string>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::spawn {

// PMIx status codes of the events.
inline constexpr int kEventLaunchComplete = -174;
inline constexpr int kEventJobStart = -191;
inline constexpr int kEventJobEnd = -145;

// How a job ended, for people's programs.
struct JobOutcome {
  int status = 0;                    // PMIx status of the job
  Rank first_failed = kRankInvalid;  // kRankInvalid: no rank's fault
  int exit_code = 0;
};

// Infos in codec form (SIZE n, then n INFO): the job that the event is about.
Bytes JobEventInfo(const std::string& nspace);
// The same with how it ended.
Bytes JobEndInfo(const std::string& nspace, const JobOutcome& outcome);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_JOB_EVENTS_H_
