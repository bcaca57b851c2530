// The shared memory that local clients read, as the runtime sees it. Loop
// thread only.
#ifndef CANOPY_SERVER_PORTS_DATASTORE_PORT_H_
#define CANOPY_SERVER_PORTS_DATASTORE_PORT_H_

#include <cstdint>
#include <string>

#include "common/ids.h"
#include "common/status.h"
#include "server/core/step/job_actions.h"

namespace canopy {

class DatastorePort {
 public:
  virtual ~DatastorePort() = default;
  // Creates the job's segment with all job-level data, after which the job's
  // environment is complete. The error is the reason why that failed.
  virtual Status AddJob(const core::RegisterJob& job) = 0;
  // Makes a rank's data readable in its job's segment. kErrOutOfResource: the
  // data does not fit, and earlier data is kept; kErrNotFound: the job has no
  // segment; kErrUnpackFailure: the data is malformed.
  virtual Status Publish(const core::PublishRank& data) = 0;
  // Sets the number of processes that the rank had before the present one. No
  // effect for an unknown job.
  virtual void SetIncarnation(const ProcId& proc, uint32_t incarnation) = 0;
  // Removes the job's segment. No effect for an unknown job.
  virtual void DropJob(const std::string& nspace) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_DATASTORE_PORT_H_
