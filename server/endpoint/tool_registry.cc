#include "server/endpoint/tool_registry.h"

#include <sys/random.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

namespace canopy::endpoint {

namespace {

std::string RandomText() {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) {
    number = static_cast<uint32_t>(getpid());
  }
  char text[9] = {};
  std::snprintf(text, sizeof text, "%08x", number);
  return text;
}

}  // namespace

ToolRegistry::ToolRegistry(const ProcId& server, uint32_t max)
    : prefix_(server.nspace + "-tool" + std::to_string(server.rank) + "-" +
              RandomText() + "-"),
      max_(max) {}

Result<ProcId> ToolRegistry::Admit(const ProcId& asked) {
  if (connected_.size() >= max_) {
    return Status(kErrResourceBusy, "exceeds the number of tools");
  }
  ProcId tool = asked;
  if (tool.nspace.empty()) {
    tool = {prefix_ + std::to_string(next_++), 0};
  }
  if (!connected_.insert(tool).second) {
    return Status(kErrExists,
                  "claims to be " + ToString(tool) + ", which is connected");
  }
  return tool;
}

void ToolRegistry::Leave(const ProcId& tool) { connected_.erase(tool); }

}  // namespace canopy::endpoint
