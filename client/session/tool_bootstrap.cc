#include "client/session/tool_bootstrap.h"

#include <utility>

#include "client/session/agent_greeting.h"
#include "client/session/version.h"
#include "common/local_protocol.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

std::string HelloPayload(const ProcId& claimed) {
  WireWriter out;
  out.Uint(local::kProtocolVersion);
  out.Proc(claimed);
  out.String(kVersionText);
  return out.Take();
}

}  // namespace

Result<Bootstrap> ConnectTool(const std::string& path, const ProcId& claimed) {
  Result<Greeted> greeted =
      GreetAgent(path, local::FrameType::kToolHello, HelloPayload(claimed));
  if (!greeted.ok()) return greeted.status();
  // The rest of the welcome is for ranks only.
  WireReader in(greeted->welcome);
  const ProcId self = in.Proc();
  const ProcId server = in.Proc();
  if (!in.ok()) return Status(kErrHandshakeFailed, "malformed welcome");
  Bootstrap result = MakeAlone(self);
  result.server = server;
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
