#include "client/tool/tool.h"

#include <atomic>
#include <memory>
#include <utility>

#include "client/session/bootstrap.h"
#include "client/session/lifecycle.h"
#include "client/session/singleton_job.h"
#include "client/session/tool_bootstrap.h"
#include "client/tool/initiator.h"
#include "client/tool/server_search.h"
#include "client/tool/tool_options.h"
#include "common/mutex.h"
#include "common/posix/host_name.h"
#include "common/status.h"
#include "common/values/info_list.h"

namespace canopy::client {
namespace {

// The number of InitTool's successes minus the number of FinalizeTool's
// successes.
std::atomic<int> g_references{0};

struct End {
  Mutex mu;
  std::function<bool()> before CANOPY_GUARDED_BY(mu);
};

// The object is never destroyed, because a process may end while a thread uses
// the object.
End& TheEnd() {
  static auto* const end = new End;
  return *end;
}

// Ends the parts of the process that depend on the tool. Returns false if this
// thread must not wait for their end.
bool EndWhatDepends() {
  std::function<bool()> before;
  {
    const MutexLock lock(TheEnd().mu);
    before = TheEnd().before;
  }
  if (!before) return true;
  if (!before()) return false;
  SetToolEnd({});
  return true;
}

// Returns true if a launcher has set the address of the agent in the
// environment.
bool WasLaunched() {
  const Result<Environment> environment = ReadEnvironment();
  return environment.ok() && !environment->socket.empty();
}

// Adds the data to a tool's job, which otherwise consists of the tool only. A
// launcher has such data from its orders.
Result<Bootstrap> WithData(Result<Bootstrap> found, const InfoList& data) {
  if (!found.ok() || !found->is_tool || data.empty()) return found;
  found->job =
      std::make_unique<SingletonJob>(found->self.nspace, LocalHostName(), data);
  return found;
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
  int rc = ParseToolOptions("PMIx_tool_init", info, ninfo, &options);
  if (rc != PMIX_SUCCESS) return rc;
  const Initiator initiator = TakeInitiator();
  const LauncherOrders& orders = initiator.orders;
  if (options.name.nspace.empty()) options.name = orders.name;
  const auto find = [&] {
    return WithData(FindServer(options), orders.job_data);
  };
  rc = InitLibraryBy(find, options.init, proc);
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
  const bool may = references > 1 || EndWhatDepends();
  const int rc = may ? FinalizeLibrary(nullptr, 0) : PMIX_ERR_WOULD_BLOCK;
  // In a callback the tool cannot be finalised, so the reference stays.
  if (rc == PMIX_ERR_WOULD_BLOCK) ++g_references;
  return rc;
}

void SetToolEnd(std::function<bool()> end) {
  const MutexLock lock(TheEnd().mu);
  TheEnd().before = std::move(end);
}

}  // namespace canopy::client
