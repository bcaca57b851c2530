// The servers of a tool after its start (chapter "Tools and Debuggers"). A
// process of a job may have some, too. Blocking; any thread; statuses of PMIx.
#ifndef CANOPY_CLIENT_TOOL_ATTACH_H_
#define CANOPY_CLIENT_TOOL_ATTACH_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// PMIx_tool_attach_to_server: a connection to one more server, found as by
// PMIx_tool_init, under the name that this process has. The names of the tool
// and of the server are written unless the pointers are null. With
// PMIX_PRIMARY_SERVER the server becomes the primary, also when it was
// connected before.
//
// PMIX_ERR_UNREACH: there is no server that is not connected already;
// PMIX_ERR_EXISTS, PMIX_ERR_INVALID_CRED: the server knows another process of
// this name; PMIX_ERR_BAD_PARAM: directives contradict each other, or name the
// tool otherwise.
int AttachToServer(Session& session, const pmix_info_t* info, size_t ninfo,
                   pmix_proc_t* self, pmix_proc_t* server);

// PMIx_tool_connect_to_server, the older form: the new server takes the place
// of the primary, which is disconnected.
int ConnectToServerInstead(Session& session, const pmix_info_t* info,
                           size_t ninfo, pmix_proc_t* self);

// PMIx_tool_set_server. PMIX_ERR_UNREACH: it is not connected, and
// PMIX_WAIT_FOR_CONNECTION was not given; PMIX_ERR_TIMEOUT: it was not within
// PMIX_TIMEOUT.
int SetServer(Session& session, const pmix_proc_t* server,
              const pmix_info_t* info, size_t ninfo);

// PMIx_tool_disconnect. PMIX_ERR_NOT_FOUND: it is not connected.
int DisconnectServer(Session& session, const pmix_proc_t* server);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOOL_ATTACH_H_
