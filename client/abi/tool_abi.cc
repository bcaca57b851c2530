// Tools: start and end, and which servers they have.

#include <cstddef>
#include <vector>

#include "client/abi/give_procs.h"
#include "client/session/lifecycle.h"
#include "client/tool/tool.h"
#include "common/ids.h"
#include "pmix_tool.h"

using canopy::client::ApiCall;

extern "C" {

pmix_status_t PMIx_tool_init(pmix_proc_t* proc, pmix_info_t info[],
                             size_t ninfo) {
  return canopy::client::InitTool(proc, info, ninfo);
}

pmix_status_t PMIx_tool_finalize(void) {
  return canopy::client::FinalizeTool();
}

bool PMIx_tool_is_connected(void) {
  const ApiCall call;
  return call && !canopy::client::ServersOf(call.session()).empty();
}

pmix_status_t PMIx_tool_get_servers(pmix_proc_t* servers[], size_t* nservers) {
  if (servers == nullptr || nservers == nullptr) return PMIX_ERR_BAD_PARAM;
  *servers = nullptr;
  *nservers = 0;
  const ApiCall call;
  if (!call) return PMIX_ERR_INIT;
  const std::vector<canopy::ProcId> found =
      canopy::client::ServersOf(call.session());
  if (found.empty()) return PMIX_ERR_UNREACH;
  return canopy::client::GiveProcs(found, servers, nservers);
}

}  // extern "C"
