// Executes a log plan.
#ifndef CANOPY_SERVER_LOG_LOG_RUN_H_
#define CANOPY_SERVER_LOG_LOG_RUN_H_

#include <cstdint>

#include "common/ids.h"
#include "server/core/step/client_id.h"
#include "server/log/log_plan.h"
#include "server/log/syslog.h"
#include "server/ports/process_text.h"

namespace canopy::log {

// The destinations of texts. A function may be null.
struct LogPlaces {
  PutText put_text;
  PutSyslog put_syslog;
};

// Identifies a request and its process: see ProcessText.
struct LogRequestId {
  ProcId proc;
  core::ClientId client = 0;
  uint32_t request = 0;
  bool again = false;
};

// Logs the entries of a plan. Calls `done` once with the status of the request,
// possibly within the call; see PutText. If the plan is `once`, only the first
// destination that accepts its text is used; if none does, the status is that
// of the last one. Otherwise the status is kErrPartialSuccess if some
// destination accepted its texts and another did not.
void RunLog(const LogPlaces& places, const LogRequestId& id, LogPlan plan,
            TextDone done);

}  // namespace canopy::log

#endif  // CANOPY_SERVER_LOG_LOG_RUN_H_
