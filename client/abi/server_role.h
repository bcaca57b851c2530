// The server that this process runs, from PMIx_server_init to
// PMIx_server_finalize.
#ifndef CANOPY_CLIENT_ABI_SERVER_ROLE_H_
#define CANOPY_CLIENT_ABI_SERVER_ROLE_H_

#include <cstddef>
#include <functional>

#include "pmix_server.h"
#include "server/library/library_server.h"

namespace canopy::client {

// Implement PMIx_server_init and PMIx_server_finalize. Calls are counted: the
// server lasts from the first InitServer to the last FinalizeServer. Called on
// any thread except the server's. They return a PMIx status.
int InitServer(const pmix_server_module_t* module, const pmix_info_t* info,
               size_t ninfo);
int FinalizeServer();

// Implements PMIx_tool_set_server_module: makes this tool a server too, under
// its own name, until the tool ends. Processes that it prepares and starts are
// its clients; its notifications go to them and to the server to which it is
// connected. Tools may connect if the module has a function that accepts them.
// They find the address in the file that PMIX_LAUNCHER_RNDZ_FILE names in the
// environment; this call removes the variable. Returns PMIX_ERR_INIT if the
// library is not initialised, PMIX_ERR_NOT_SUPPORTED if this process is not a
// tool, PMIX_ERR_BAD_PARAM if `module` is null, PMIX_ERR_EXISTS if the tool has
// a module already or the file exists, or the error of the server's start.
int ServeByTool(const pmix_server_module_t* module);

// Gives this tool an address (PMIX_MYSERVER_URI) to which the processes that it
// starts connect back, for PMIX_LAUNCHER of PMIx_tool_init. The first request
// for the address starts a server that serves tools of the same user. That
// server ends with the tool, or when the tool passes its own server module to
// ServeByTool. Does nothing in a process that is not a tool.
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

// Starts an operation of the server. A callback gets the result in every case,
// because some hosts wait for it without checking the returned status. If there
// is no callback, the call blocks, except within the host's own functions.
// Returns the PMIx status of the start, or of the result if the call has
// blocked; PMIX_OPERATION_SUCCEEDED then stands for success.
int StartOrWait(ServerCall& server, pmix_op_cbfunc_t cbfunc, void* cbdata,
                const std::function<void(library::LibraryServer::Done)>& start);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_SERVER_ROLE_H_
