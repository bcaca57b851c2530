// What the events say of what becomes of a job.
#ifndef CANOPY_SERVER_SPAWN_JOB_EVENTS_H_
#define CANOPY_SERVER_SPAWN_JOB_EVENTS_H_

#include <cstdint>
#include <string>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::spawn {

// How a job ended, for people's programs.
struct JobOutcome {
  int status = 0;                    // PMIx status of the job
  Rank first_failed = kRankInvalid;  // kRankInvalid: no rank's fault
  int exit_code = 0;
};

// Infos in codec form (SIZE n, then n INFO), all with the time of the event:
// the job that it is about. `asked`: its receivers asked for it, or are to know
// in any case; else handlers without codes of their own do not get it.
Bytes JobEventInfo(const std::string& nspace, bool asked);
// The same with how it ended.
Bytes JobEndInfo(const std::string& nspace, const JobOutcome& outcome,
                 bool asked);

// For its processes, if they have a handler for its code: so many seconds of
// its time are left.
Bytes TimeWarningInfo(const std::string& nspace, uint32_t seconds_left);

// A process of a job has ended.
Bytes ProcEndInfo(const ProcId& proc, int exit_code, bool asked);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_JOB_EVENTS_H_
