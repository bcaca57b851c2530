// The tools that are connected to this agent, by any of its endpoints.
#ifndef CANOPY_SERVER_ENDPOINT_TOOL_REGISTRY_H_
#define CANOPY_SERVER_ENDPOINT_TOOL_REGISTRY_H_

#include <cstdint>
#include <map>
#include <string>

#include "common/ids.h"
#include "common/status.h"

namespace canopy::endpoint {

// The limit for the tools of all users. Each user has a share (core::HasShare):
// a single user may have 256 tools.
inline constexpr uint32_t kMaxTools = 512;

// Loop thread only.
class ToolRegistry {
 public:
  // `server` is the agent as PMIx names it; tools without a name are named
  // after it. At most `max` tools are connected at a time. No two registries
  // assign the same name: a tool keeps its name with other servers and across
  // restarts of this agent.
  ToolRegistry(const ProcId& server, uint32_t max);

  // Returns the identity of a tool that connects: the requested one or, if that
  // has no namespace, a new one that no other tool of any agent has.
  // kErrExists: a tool with this identity is connected; kErrResourceBusy: this
  // user has too many tools.
  Result<ProcId> Admit(const ProcId& asked, uint32_t uid);
  // Must be called when an admitted tool has disconnected.
  void Leave(const ProcId& tool);

 private:
  const std::string prefix_;  // of assigned names
  const uint32_t max_;
  uint32_t next_ = 1;
  std::map<ProcId, uint32_t> connected_;  // the value is the user
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_TOOL_REGISTRY_H_
