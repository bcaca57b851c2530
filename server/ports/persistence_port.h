// Persists the core's state for a successor.
#ifndef CANOPY_SERVER_PORTS_PERSISTENCE_PORT_H_
#define CANOPY_SERVER_PORTS_PERSISTENCE_PORT_H_

#include <string>

#include "server/core/step/persisted_state.h"

namespace canopy {

// A record must survive the death of this process when Persist returns, because
// later actions may depend on it. Loop thread only.
class PersistencePort {
 public:
  virtual ~PersistencePort() = default;
  // Called when the job's processes are about to be started. From now on, there
  // is a shim that can hold the job's descriptors.
  virtual void AddJob(const std::string& nspace) = 0;
  virtual void Persist(const core::PersistRecord& record) = 0;
  virtual void Persist(const core::PersistControlState& record) = 0;
  // Removes the records of the job.
  virtual void DropJob(const std::string& nspace) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PERSISTENCE_PORT_H_
