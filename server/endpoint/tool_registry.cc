#include "server/endpoint/tool_registry.h"

#include <string>
#include <utility>

namespace canopy::endpoint {

ToolRegistry::ToolRegistry(ProcId server, uint32_t max)
    : server_(std::move(server)), max_(max) {}

Result<ProcId> ToolRegistry::Admit(const ProcId& asked) {
  if (connected_.size() >= max_) {
    return Status(kErrResourceBusy, "is one tool too many");
  }
  ProcId tool = asked;
  if (tool.nspace.empty()) {
    tool = {server_.nspace + "-tool" + std::to_string(server_.rank) + "-" +
                std::to_string(next_++),
            0};
  }
  if (!connected_.insert(tool).second) {
    return Status(kErrExists,
                  "claims to be " + ToString(tool) + ", which is connected");
  }
  return tool;
}

void ToolRegistry::Leave(const ProcId& tool) { connected_.erase(tool); }

}  // namespace canopy::endpoint
