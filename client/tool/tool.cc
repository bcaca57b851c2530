#include "client/tool/tool.h"

#include <atomic>
#include <utility>

#include "client/session/bootstrap.h"
#include "client/session/lifecycle.h"
#include "client/session/tool_bootstrap.h"
#include "client/tool/initiator.h"
#include "client/tool/server_search.h"
#include "client/tool/tool_options.h"
#include "common/status.h"

namespace canopy::client {
namespace {

// Successful calls of InitTool that FinalizeTool has not undone.
std::atomic<int> g_references{0};

// A launcher tells its processes which agent is theirs.
bool WasLaunched() {
  const Result<Environment> environment = ReadEnvironment();
  return environment.ok() && !environment->socket.empty();
}

Result<Bootstrap> FindServer(const ToolOptions& options) {
  if (!options.connects) return MakeUnconnectedTool(options.name);
  if (!options.server.explicit_choice() && options.name.nspace.empty() &&
      WasLaunched()) {
    return FindAgent();
  }
  Result<ServerFound> found = ConnectToServer(options, {});
  if (found.ok()) return std::move(*found->connection);
  if (options.optional) return MakeUnconnectedTool(options.name);
  return found.status();
}

int Follow(const Initiator& initiator) {
  if (!initiator.any()) return PMIX_SUCCESS;
  const ApiCall call;
  return call ? FollowInitiator(call.session(), initiator) : PMIX_ERR_INIT;
}

}  // namespace

int InitTool(pmix_proc_t* proc, const pmix_info_t* info, size_t ninfo) {
  ToolOptions options;
  int rc = ParseToolOptions(info, ninfo, &options);
  if (rc != PMIX_SUCCESS) return rc;
  const Initiator initiator = TakeInitiator();
  rc = InitLibraryBy([&] { return FindServer(options); }, options.init, proc);
  if (rc != PMIX_SUCCESS) return rc;
  ++g_references;
  rc = Follow(initiator);
  if (rc != PMIX_SUCCESS) (void)FinalizeTool();
  return rc;
}

int FinalizeTool() {
  int references = g_references.load();
  do {
    if (references == 0) return PMIX_ERR_INIT;
  } while (!g_references.compare_exchange_weak(references, references - 1));
  const int rc = FinalizeLibrary(nullptr, 0);
  // A callback may not do it.
  if (rc == PMIX_ERR_WOULD_BLOCK) ++g_references;
  return rc;
}

}  // namespace canopy::client
