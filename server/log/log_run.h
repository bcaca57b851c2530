// Carries out what was planned to be logged.
#ifndef CANOPY_SERVER_LOG_LOG_RUN_H_
#define CANOPY_SERVER_LOG_LOG_RUN_H_

#include <cstdint>

#include "common/ids.h"
#include "server/core/step/client_id.h"
#include "server/log/log_plan.h"
#include "server/log/syslog.h"
#include "server/ports/process_text.h"

namespace canopy::log {

// Where texts go. A place may be missing.
struct LogPlaces {
  PutText put_text;
  PutSyslog put_syslog;
};

// Of whom the request is, and which: see ProcessText.
struct LogRequestId {
  ProcId proc;
  core::ClientId client = 0;
  uint32_t request = 0;
  bool again = false;
};

// Calls `done` once with the status of the request, perhaps at once; as PutText
// says. Of a plan that is to be done once the first place that takes its text
// is the only one. Else kErrPartialSuccess when some place took its texts and
// another one did not.
void RunLog(const LogPlaces& places, const LogRequestId& id, LogPlan plan,
            TextDone done);

}  // namespace canopy::log

#endif  // CANOPY_SERVER_LOG_LOG_RUN_H_
