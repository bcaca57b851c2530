// Where the core's state is persisted for a successor.
#ifndef CANOPY_SERVER_PORTS_PERSISTENCE_PORT_H_
#define CANOPY_SERVER_PORTS_PERSISTENCE_PORT_H_

#include <string>

#include "server/core/step/persisted_state.h"

namespace canopy {

// A record is durable against the death of this process when Persist returns:
// the actions that follow may depend on it. Loop thread.
class PersistencePort {
 public:
  virtual ~PersistencePort() = default;
  // The job's processes are about to be made: there is a shim now, which can
  // hold its descriptors.
  virtual void AddJob(const std::string& nspace) = 0;
  virtual void Persist(const core::PersistRecord& record) = 0;
  virtual void Persist(const core::PersistControlState& record) = 0;
  virtual void DropJob(const std::string& nspace) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PERSISTENCE_PORT_H_
