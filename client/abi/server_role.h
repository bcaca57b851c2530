// The server that this process runs, from PMIx_server_init to
// PMIx_server_finalize.
#ifndef CANOPY_CLIENT_ABI_SERVER_ROLE_H_
#define CANOPY_CLIENT_ABI_SERVER_ROLE_H_

#include <cstddef>
#include <functional>

#include "pmix_server.h"
#include "server/library/library_server.h"

namespace canopy::client {

// Counted; any thread but the server's. Status of PMIx.
int InitServer(const pmix_server_module_t* module, const pmix_info_t* info,
               size_t ninfo);
int FinalizeServer();

// PMIx_tool_set_server_module: this tool becomes a server, too, under its own
// name, until it ends. Processes that it prepares and starts are its clients;
// what it notifies goes to them and to its own server. Tools may connect if the
// module decides about them, and the file that PMIX_LAUNCHER_RNDZ_FILE names in
// the environment, which it takes out, tells them where.
// PMIX_ERR_INIT, PMIX_ERR_NOT_SUPPORTED: this is no tool; PMIX_ERR_BAD_PARAM:
// no module; PMIX_ERR_EXISTS: it is a server already, or the file is there.
int ServeByTool(const pmix_server_module_t* module);

// Gives this tool an address (PMIX_MYSERVER_URI) by which what it starts connects
// back to it, for PMIX_LAUNCHER of PMIx_tool_init. The first request for the
// address starts a server that serves tools of the same user. That server ends
// with the tool, or when the tool passes a server module of its own to
// ServeByTool. Does nothing in a process that is no tool.
void OfferAddress();

// Keeps the server alive for the length of one API call.
class ServerCall {
 public:
  ServerCall();
  ~ServerCall();
  ServerCall(const ServerCall&) = delete;
  ServerCall& operator=(const ServerCall&) = delete;

  explicit operator bool() const { return server_ != nullptr; }
  library::LibraryServer* operator->() const { return server_; }

 private:
  library::LibraryServer* server_;
};

// Starts something with the server. With a callback it gets the result,
// whatever that is: there are hosts that wait for it without a look at what the
// call returned. Without one the call waits, but for one from within the host's
// own functions. Status of PMIx: of the start, or, where it waited, of the
// result.
int StartOrWait(ServerCall& server, pmix_op_cbfunc_t cbfunc, void* cbdata,
                const std::function<void(library::LibraryServer::Done)>& start);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_SERVER_ROLE_H_
