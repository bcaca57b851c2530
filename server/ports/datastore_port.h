// Shared memory that local clients read, as the runtime sees it. Loop thread.
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
  // Makes the job's segment with all its job-level data; the job's environment
  // is ready after it. Returns the reason when it can not.
  virtual Status AddJob(const core::RegisterJob& job) = 0;
  // kErrOutOfResource when it does not fit; what was there before stays.
  virtual Status Publish(const core::PublishRank& data) = 0;
  // How many processes the rank had before the present one. No effect for a job
  // that is not here.
  virtual void SetIncarnation(const ProcId& proc, uint32_t incarnation) = 0;
  virtual void DropJob(const std::string& nspace) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_DATASTORE_PORT_H_
