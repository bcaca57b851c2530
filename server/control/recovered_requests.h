// The requests to spawn that a predecessor was executing, or had answered,
// reconstructed from its records of their jobs.
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
    bool over = false;  // it had started, and has ended
  };

  ProcId proc;
  core::RequestId request = 0;
  std::vector<Job> jobs;  // the first is the result of the spawn
  int64_t deadline = 0;   // the value of LaunchFacts::start_deadline
  // False if the request had a second job of which there is no record: the
  // predecessor ended before it recorded this job, or the job has failed. Then
  // the request fails.
  bool complete = true;
};

// Returns the requests of the jobs of one family. The two jobs of a request
// with a cospawned job are in one entry.
std::vector<RecoveredRequest> RecoveredRequests(
    const std::vector<const PersistedJob*>& family);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_RECOVERED_REQUESTS_H_
