// Which requests to spawn a predecessor was executing, or had answered, from
// its records of their jobs.
#ifndef CANOPY_SERVER_CONTROL_RECOVERED_REQUESTS_H_
#define CANOPY_SERVER_CONTROL_RECOVERED_REQUESTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/control/job_record.h"
#include "server/core/step/client_id.h"

namespace canopy::control {

struct RecoveredRequest {
  struct Job {
    std::string nspace;
    bool over = false;  // after it had started
  };

  ProcId proc;
  core::RequestId request = 0;
  std::vector<Job> jobs;  // the first is the answer
  int64_t deadline = 0;   // as LaunchFacts::start_deadline
  // False: the predecessor ended before the other job was recorded, or that has
  // failed. What there is does not start.
  bool complete = true;
};

// Of the jobs of one family. A cospawned job whose request was answered has
// none: the other job has it.
std::vector<RecoveredRequest> RecoveredRequests(
    const std::vector<const PersistedJob*>& family);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_RECOVERED_REQUESTS_H_
