// Numbers by which agents identify a request of a process.
#ifndef CANOPY_SERVER_CORE_REQUEST_NUMBER_H_
#define CANOPY_SERVER_CORE_REQUEST_NUMBER_H_

#include <cstdint>

#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// Returns the number of a request. Successive processes of one rank get
// disjoint ranges, so that a request is not taken for one of an earlier
// process. Numbers of tools stay unchanged.
inline uint64_t RequestNumber(const JobTable& jobs, const ProcId& proc,
                              RequestId request) {
  const Job* job = jobs.Find(proc.nspace);
  if (job == nullptr || proc.rank >= job->num_ranks()) return request;
  return (uint64_t{job->ranks[proc.rank].incarnation} << 32) + request;
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_REQUEST_NUMBER_H_
