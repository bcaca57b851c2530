// C entry points for tools: start and end, and their servers.

#include <cstddef>
#include <vector>

#include "client/abi/give_procs.h"
#include "client/abi/server_role.h"
#include "client/abi/with_session.h"
#include "client/session/directives.h"
#include "client/tool/attach.h"
#include "client/tool/tool.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "pmix_tool.h"

using canopy::client::ApiCall;
using canopy::client::Session;
using canopy::client::WithSession;

extern "C" {

pmix_status_t PMIx_tool_init(pmix_proc_t* proc, pmix_info_t info[],
                             size_t ninfo) {
  const int rc = canopy::client::InitTool(proc, info, ninfo);
  if (rc != PMIX_SUCCESS) return rc;
  for (size_t i = 0; i < ninfo; ++i) {
    if (canopy::KeyOf(info[i]) == PMIX_LAUNCHER &&
        canopy::client::IsTrue(info[i])) {
      canopy::client::OfferAddress();
    }
  }
  return rc;
}

pmix_status_t PMIx_tool_finalize(void) {
  return canopy::client::FinalizeTool();
}

bool PMIx_tool_is_connected(void) {
  const ApiCall call;
  return call && !call.session().servers().names().empty();
}

pmix_status_t PMIx_tool_get_servers(pmix_proc_t* servers[], size_t* nservers) {
  if (servers == nullptr || nservers == nullptr) return PMIX_ERR_BAD_PARAM;
  *servers = nullptr;
  *nservers = 0;
  const ApiCall call;
  if (!call) return PMIX_ERR_INIT;
  const std::vector<canopy::ProcId> found = call.session().servers().names();
  if (found.empty()) return PMIX_ERR_UNREACH;
  return canopy::client::GiveProcs(found, servers, nservers);
}

pmix_status_t PMIx_tool_attach_to_server(pmix_proc_t* myproc,
                                         pmix_proc_t* server,
                                         pmix_info_t info[], size_t ninfo) {
  return WithSession([&](Session& session) {
    return canopy::client::AttachToServer(session, info, ninfo, myproc, server);
  });
}

pmix_status_t PMIx_tool_connect_to_server(pmix_proc_t* proc, pmix_info_t info[],
                                          size_t ninfo) {
  return WithSession([&](Session& session) {
    return canopy::client::ConnectToServerInstead(session, info, ninfo, proc);
  });
}

pmix_status_t PMIx_tool_set_server(const pmix_proc_t* server,
                                   pmix_info_t info[], size_t ninfo) {
  return WithSession([&](Session& session) {
    return canopy::client::SetServer(session, server, info, ninfo);
  });
}

pmix_status_t PMIx_tool_disconnect(const pmix_proc_t* server) {
  return WithSession([&](Session& session) {
    return canopy::client::DisconnectServer(session, server);
  });
}

}  // extern "C"
