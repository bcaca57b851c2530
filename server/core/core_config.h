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
  // The root is this agent's host and takes part in every collective, even one
  // among processes of a single node.
  bool host_is_root = false;
  // Emit PersistRecord actions: a successor may recover this agent's jobs.
  bool persists = false;
  // Start time of this agent, whether new or a successor. kNever: no other
  // agent has state to resynchronise with it.
  TimeNs began_at = kNever;
  // Namespace in which the agents, as PMIx servers, are the ranks.
  std::string server_nspace = "canopy-agent";
  // Description of the agent, supplied by its main program. It is returned with
  // the agent's state (why.h) and not interpreted here.
  std::string about;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_CORE_CONFIG_H_
