// Ends a job whose time limit has expired, and gives the reason.
#ifndef CANOPY_SERVER_CONTROL_TIME_LIMIT_H_
#define CANOPY_SERVER_CONTROL_TIME_LIMIT_H_

#include <memory>

#include "common/job.h"
#include "server/control/state_collector.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Requests from every agent a report of the operations for which the job waits,
// and then requests the job's end with the replies as the reason. `states` and
// `sink` must live until the replies have arrived. Loop thread only.
void EndOutOfTime(const std::shared_ptr<const JobSpec>& job,
                  StateCollector* states, InputSink* sink);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_TIME_LIMIT_H_
