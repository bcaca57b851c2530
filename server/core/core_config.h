// What an agent's core is told when it begins.
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
  std::vector<std::string> node_names;  // index = NodeId
  uint32_t radix = 32;
  // The root is the host of this agent and has a say in every collective, also
  // one of processes of this node alone.
  bool host_is_root = false;
  // Emit PersistRecord actions: a successor may recover this agent's jobs.
  bool persists = false;
  // When this agent started, newly or as a predecessor's successor; kNever: no
  // other agent has state to resynchronise with it.
  TimeNs began_at = kNever;
  // Whose ranks are the agents, as PMIx servers.
  std::string server_nspace = "canopy-agent";
  // Returned with this agent's state (why.h) and not interpreted here: a
  // self-description supplied by the agent's main.
  std::string about;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_CORE_CONFIG_H_
