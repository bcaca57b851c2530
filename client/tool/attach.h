// The servers of a tool after its start (PMIx Standard, chapter "Tools and
// Debuggers"). A process of a job may attach to servers too. The functions
// block and may be called from any thread. They return PMIx statuses.
#ifndef CANOPY_CLIENT_TOOL_ATTACH_H_
#define CANOPY_CLIENT_TOOL_ATTACH_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Implements PMIx_tool_attach_to_server: connects to one more server, found as
// by PMIx_tool_init, under the present name of the process. Writes the names of
// the tool and of the server unless the pointers are null. With
// PMIX_PRIMARY_SERVER the server becomes the primary, even if it was connected
// before.
//
// Errors: PMIX_ERR_UNREACH if all servers that were found are connected
// already, or none was found; PMIX_ERR_EXISTS if another tool of this name is
// connected to the server; PMIX_ERR_INVALID_CRED if the server has a job with
// the tool's namespace; PMIX_ERR_BAD_PARAM if directives contradict each other,
// forbid a connection or give the tool another name; otherwise those of
// ConnectToServer (server_search.h) and Servers::Attach.
int AttachToServer(Session& session, const pmix_info_t* info, size_t ninfo,
                   pmix_proc_t* self, pmix_proc_t* server);

// Implements PMIx_tool_connect_to_server, the older form: the new server
// replaces the primary, which is disconnected.
int ConnectToServerInstead(Session& session, const pmix_info_t* info,
                           size_t ninfo, pmix_proc_t* self);

// Implements PMIx_tool_set_server. Returns PMIX_ERR_UNREACH if the server is
// not connected and PMIX_WAIT_FOR_CONNECTION was not given, PMIX_ERR_TIMEOUT if
// it was not connected within PMIX_TIMEOUT, and PMIX_ERR_BAD_PARAM for wrong
// arguments.
int SetServer(Session& session, const pmix_proc_t* server,
              const pmix_info_t* info, size_t ninfo);

// Implements PMIx_tool_disconnect. Returns PMIX_ERR_NOT_FOUND if the server is
// not connected, and PMIX_ERR_BAD_PARAM if `server` names none.
int DisconnectServer(Session& session, const pmix_proc_t* server);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_ATTACH_H_
