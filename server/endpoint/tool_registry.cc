#include "server/endpoint/tool_registry.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "server/core/step/share.h"

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

Result<ProcId> ToolRegistry::Admit(const ProcId& asked, uint32_t uid) {
  const auto own = std::ranges::count(
      connected_, uid, &std::pair<const ProcId, uint32_t>::second);
  if (!core::HasShare(max_, connected_.size(), static_cast<size_t>(own))) {
    return Status(kErrResourceBusy, "exceeds the number of tools of its user");
  }
  ProcId tool = asked;
  if (tool.nspace.empty()) {
    tool = {prefix_ + std::to_string(next_++), 0};
  }
  if (!connected_.emplace(tool, uid).second) {
    return Status(kErrExists,
                  "claims to be " + ToString(tool) + ", which is connected");
  }
  return tool;
}

void ToolRegistry::Leave(const ProcId& tool) { connected_.erase(tool); }

}  // namespace canopy::endpoint
