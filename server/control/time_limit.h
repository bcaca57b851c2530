// Ends a job whose time limit has expired, with the reason.
#ifndef CANOPY_SERVER_CONTROL_TIME_LIMIT_H_
#define CANOPY_SERVER_CONTROL_TIME_LIMIT_H_

#include <memory>

#include "common/job.h"
#include "server/control/state_collector.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Requests from every agent what the job waits for, and then requests its end
// with the replies as the reason. `states` and `sink` outlive the replies. Loop
// thread only.
void EndOutOfTime(const std::shared_ptr<const JobSpec>& job,
                  StateCollector* states, InputSink* sink);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_TIME_LIMIT_H_
