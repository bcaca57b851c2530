// The tools that are connected to this agent, by whichever endpoint.
#ifndef CANOPY_SERVER_ENDPOINT_TOOL_REGISTRY_H_
#define CANOPY_SERVER_ENDPOINT_TOOL_REGISTRY_H_

#include <cstdint>
#include <set>
#include <string>

#include "common/ids.h"
#include "common/status.h"

namespace canopy::endpoint {

inline constexpr uint32_t kMaxTools = 256;

// Loop thread only.
class ToolRegistry {
 public:
  // `server`: the agent, as PMIx names it, after which tools are named that
  // have no name of their own. At most `max` are connected at a time. No two
  // registries give the same name: a tool keeps its own over other servers,
  // while this agent may be restarted.
  ToolRegistry(const ProcId& server, uint32_t max);

  // The identity of a tool that connects: the one it asks for, or, when that
  // has no namespace, one that no other tool of any agent has. kErrExists: a
  // tool of that identity is connected; kErrResourceBusy: there are too many.
  Result<ProcId> Admit(const ProcId& asked);
  // One that was admitted is gone.
  void Leave(const ProcId& tool);

 private:
  const std::string prefix_;  // of names that are given
  const uint32_t max_;
  uint32_t next_ = 1;
  std::set<ProcId> connected_;
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_TOOL_REGISTRY_H_
