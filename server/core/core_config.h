// Configuration of an agent's core.
#ifndef CANOPY_SERVER_CORE_CORE_CONFIG_H_
#define CANOPY_SERVER_CORE_CORE_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/clock.h"

namespace canopy::core {

struct CoreConfig {
  NodeId self = 0;
  std::vector<std::string> node_names;  // indexed by NodeId
  uint32_t radix = 32;
  // True if the root is this agent's host. The root takes part in every
  // collective in this case, even in one among processes of a single node.
  bool host_is_root = false;
  // True if the core is to emit PersistRecord actions, because a successor may
  // recover this agent's jobs.
  bool persists = false;
  // Start time of this agent, whether it is new or a successor. kNever: no
  // other agent has state to resynchronise with this agent.
  TimeNs began_at = kNever;
  // Namespace in which the agents, as PMIx servers, are the ranks.
  std::string server_nspace = "canopy-agent";
  // Description of the agent, supplied by its main program. It is returned with
  // the agent's state (why.h); the core does not interpret it.
  std::string about;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_CORE_CONFIG_H_
