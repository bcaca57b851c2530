#include "client/tool/attach.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/session/directives.h"
#include "client/session/servers.h"
#include "client/tool/server_search.h"
#include "client/tool/tool_options.h"
#include "common/ids.h"
#include "common/support/ignored_directives.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// Reads the directives, and sets the name in *out to the name of this process,
// because a process has the same name for all its servers.
int ReadOptions(std::string_view function, const Session& session,
                const InfoArray& infos, ToolOptions* out) {
  const int rc = ParseToolOptions(function, infos.infos, infos.size, out);
  if (rc != PMIX_SUCCESS) return rc;
  const bool renamed = !out->name.nspace.empty() && out->name != session.self();
  if (renamed) return PMIX_ERR_BAD_PARAM;
  out->name = session.self();
  return PMIX_SUCCESS;
}

int Attach(Session& session, const ToolOptions& options, ProcId* server) {
  Servers& servers = session.servers();
  Result<ServerFound> found = ConnectToServer(options, servers.names());
  if (!found.ok()) return found.code();
  *server = found->server;
  if (found->connection) {
    return servers.Attach(std::move(*found->connection), options.primary);
  }
  return options.primary ? servers.SetPrimary(*server) : PMIX_SUCCESS;
}

bool IsNamed(const pmix_proc_t* server) {
  return server != nullptr && server->nspace[0] != '\0';
}

struct Waiting {
  bool waits = false;
  uint32_t timeout_ms = 0;  // 0: none
};

int ReadWaiting(const InfoArray& infos, Waiting* out) {
  for (size_t i = 0; i < infos.size; ++i) {
    const pmix_info_t& info = infos.infos[i];
    const std::string_view key = KeyOf(info);
    if (key == PMIX_WAIT_FOR_CONNECTION) {
      out->waits = IsTrue(info);
    } else if (key == PMIX_TIMEOUT) {
      const int rc = TimeoutOf(info, &out->timeout_ms);
      if (rc != PMIX_SUCCESS) return rc;
    } else {
      const int rc = support::NotHonoured("PMIx_tool_set_server", info);
      if (rc != PMIX_SUCCESS) return rc;
    }
  }
  return PMIX_SUCCESS;
}

}  // namespace

int AttachToServer(Session& session, const pmix_info_t* info, size_t ninfo,
                   pmix_proc_t* self, pmix_proc_t* server) {
  ToolOptions options;
  int rc = ReadOptions("PMIx_tool_attach_to_server", session, {info, ninfo},
                       &options);
  if (rc != PMIX_SUCCESS) return rc;
  ProcId found;
  rc = Attach(session, options, &found);
  if (rc != PMIX_SUCCESS) return rc;
  if (self != nullptr) *self = ToC(session.self());
  if (server != nullptr) *server = ToC(found);
  return PMIX_SUCCESS;
}

int ConnectToServerInstead(Session& session, const pmix_info_t* info,
                           size_t ninfo, pmix_proc_t* self) {
  ToolOptions options;
  int rc = ReadOptions("PMIx_tool_connect_to_server", session, {info, ninfo},
                       &options);
  if (rc != PMIX_SUCCESS) return rc;
  options.primary = true;
  const std::vector<ProcId> before = session.servers().names();
  ProcId found;
  rc = Attach(session, options, &found);
  if (rc != PMIX_SUCCESS) return rc;
  if (self != nullptr) *self = ToC(session.self());
  if (before.empty() || before.front() == found) return PMIX_SUCCESS;
  // The server may be gone already, or may be a server that the process cannot
  // leave.
  (void)session.servers().Disconnect(before.front());
  return PMIX_SUCCESS;
}

int SetServer(Session& session, const pmix_proc_t* server,
              const pmix_info_t* info, size_t ninfo) {
  const InfoArray infos{info, ninfo};
  if (!IsNamed(server) || !infos.ok()) return PMIX_ERR_BAD_PARAM;
  Waiting waiting;
  const int rc = ReadWaiting(infos, &waiting);
  if (rc != PMIX_SUCCESS) return rc;
  if (!waiting.waits) return session.servers().SetPrimary(FromC(*server));
  std::optional<Servers::Clock::time_point> deadline;
  if (waiting.timeout_ms > 0) {
    deadline =
        Servers::Clock::now() + std::chrono::milliseconds(waiting.timeout_ms);
  }
  return session.servers().AwaitPrimary(FromC(*server), deadline);
}

int DisconnectServer(Session& session, const pmix_proc_t* server) {
  if (!IsNamed(server)) return PMIX_ERR_BAD_PARAM;
  return session.servers().Disconnect(FromC(*server));
}

}  // namespace canopy::client
