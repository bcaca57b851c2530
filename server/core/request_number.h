// By which number agents know what a process has asked for.
#ifndef CANOPY_SERVER_CORE_REQUEST_NUMBER_H_
#define CANOPY_SERVER_CORE_REQUEST_NUMBER_H_

#include <cstdint>

#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/step/client_id.h"

namespace canopy::core {

// Processes of one rank, one after the other, count in ranges of their own, so
// that what one asks is not taken for what one before it has asked. A tool's
// numbers stay as they are.
inline uint64_t RequestNumber(const JobTable& jobs, const ProcId& proc,
                              RequestId request) {
  const Job* job = jobs.Find(proc.nspace);
  if (job == nullptr || proc.rank >= job->num_ranks()) return request;
  return (uint64_t{job->ranks[proc.rank].incarnation} << 32) + request;
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_REQUEST_NUMBER_H_
