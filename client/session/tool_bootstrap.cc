#include "client/session/tool_bootstrap.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "client/session/agent_greeting.h"
#include "client/session/singleton_job.h"
#include "client/session/version.h"
#include "common/local_protocol.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

std::string HostName() {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) return "localhost";
  return host;
}

std::string HelloPayload(const ProcId& claimed) {
  WireWriter out;
  out.Uint(local::kProtocolVersion);
  out.Proc(claimed);
  out.String(kVersionText);
  return out.Take();
}

// What follows of a welcome is a rank's.
Status ReadWelcome(const std::string& welcome, Bootstrap* out) {
  WireReader in(welcome);
  out->self = in.Proc();
  out->server = in.Proc();
  in.Uint();  // size of the segment that ranks have
  return in.ok() ? Status() : Status(kErrHandshakeFailed, "malformed welcome");
}

}  // namespace

Result<Bootstrap> ConnectTool(const std::string& path, const ProcId& claimed) {
  auto socket = DialAgent(path);
  if (!socket.ok()) return socket.status();
  Bootstrap result;
  result.environment.socket = path;
  result.socket = std::move(socket).value();
  const Result<std::string> welcome = GreetAgent(
      result.socket.get(), local::FrameType::kToolHello, HelloPayload(claimed));
  if (!welcome.ok()) return welcome.status();
  const Status status = ReadWelcome(*welcome, &result);
  if (!status.ok()) return status;
  result.environment.claimed = result.self;
  result.job = std::make_unique<SingletonJob>(result.self.nspace, HostName());
  return result;
}

Bootstrap MakeUnconnectedTool(const ProcId& claimed) {
  const std::string host = HostName();
  Bootstrap result;
  result.self = claimed;
  if (claimed.nspace.empty()) {
    result.self = {
        "tool." + host + "." + std::to_string(static_cast<long>(getpid())), 0};
  }
  result.job = std::make_unique<SingletonJob>(result.self.nspace, host);
  return result;
}

}  // namespace canopy::client
