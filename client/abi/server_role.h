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
