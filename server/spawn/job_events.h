// The infos of events about the life of a job.
#ifndef CANOPY_SERVER_SPAWN_JOB_EVENTS_H_
#define CANOPY_SERVER_SPAWN_JOB_EVENTS_H_

#include <cstdint>
#include <string>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::spawn {

// The outcome of a job, for PMIx programs.
struct JobOutcome {
  int status = 0;                    // PMIx status of the job
  Rank first_failed = kRankInvalid;  // kRankInvalid: no rank failed
  int exit_code = 0;
};

// Returns infos in codec form (SIZE n, then n INFO) with the time of the event
// and the job that it concerns. If `asked` is true, the receivers have
// requested the event or must get it in any case; otherwise only handlers that
// are registered for the event's code get it.
Bytes JobEventInfo(const std::string& nspace, bool asked);
// Like JobEventInfo, with the job's outcome.
Bytes JobEndInfo(const std::string& nspace, const JobOutcome& outcome,
                 bool asked);

// Returns the infos of the event that warns a job's processes that
// `seconds_left` seconds remain. Only processes with a handler for the event's
// code get it.
Bytes TimeWarningInfo(const std::string& nspace, uint32_t seconds_left);

// Returns the infos of the event that a process of a job has ended.
Bytes ProcEndInfo(const ProcId& proc, int exit_code, bool asked);

}  // namespace canopy::spawn

#endif  // CANOPY_SERVER_SPAWN_JOB_EVENTS_H_
