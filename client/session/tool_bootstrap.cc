#include "client/session/tool_bootstrap.h"

#include <utility>

#include "client/session/agent_greeting.h"
#include "client/session/version.h"
#include "common/describe.h"
#include "common/local/greeting.h"
#include "common/local_protocol.h"

namespace canopy::client {
Result<Bootstrap> ConnectTool(const std::string& path, const ProcId& claimed) {
  const local::Hello hello{
      local::kProtocolVersion, ViewOf(claimed), {}, kVersionText};
  Result<Greeted> greeted =
      GreetAgent(path, local::FrameType::kToolHello, wire::Encode(hello));
  if (!greeted.ok()) return greeted.status();
  local::Welcome welcome;
  if (!wire::Decode(greeted->welcome, &welcome)) {
    return Status(kErrHandshakeFailed, "malformed welcome");
  }
  const ProcId self = OwnerOf(welcome.self);
  Bootstrap result = MakeAlone(self);
  result.server = OwnerOf(welcome.server);
  result.is_tool = true;
  result.environment.socket = path;
  result.environment.claimed = self;
  result.socket = std::move(greeted->socket);
  return result;
}

Bootstrap MakeUnconnectedTool(const ProcId& claimed) {
  Bootstrap result =
      MakeAlone(claimed.nspace.empty() ? NameAfterProcess("tool") : claimed);
  result.is_tool = true;
  return result;
}

}  // namespace canopy::client
