// C entry points for connecting processes of several jobs.

#include <cstddef>

#include "client/abi/with_session.h"
#include "client/session/connect_op.h"
#include "client/session/directives.h"
#include "pmix.h"

using canopy::client::BadUnless;
using canopy::client::ConnectProcs;
using canopy::client::ConnectProcsAsync;
using canopy::client::ConnectRequest;
using canopy::client::InfoArray;
using canopy::client::Session;
using canopy::client::WithCallback;
using canopy::client::WithSession;
using canopy::local::CollectiveOp;

namespace {

// Checks the arguments. A connect must name all its participants.
pmix_status_t ArgumentsOf(const ConnectRequest& request) {
  const bool has_procs = request.procs != nullptr && request.nprocs > 0;
  return BadUnless(has_procs && InfoArray{request.info, request.ninfo}.ok());
}

pmix_status_t StartConnecting(const ConnectRequest& request,
                              pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return WithCallback(ArgumentsOf(request), cbfunc, cbdata,
                      [&](Session& session, pmix_op_cbfunc_t answer) {
                        return ConnectProcsAsync(session, request, answer,
                                                 cbdata);
                      });
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Connect(const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t info[], size_t ninfo) {
  return WithSession([&](Session& session) {
    return ConnectProcs(session,
                        {CollectiveOp::kConnect, procs, nprocs, info, ninfo});
  });
}

pmix_status_t PMIx_Connect_nb(const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t info[], size_t ninfo,
                              pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return StartConnecting({CollectiveOp::kConnect, procs, nprocs, info, ninfo},
                         cbfunc, cbdata);
}

pmix_status_t PMIx_Disconnect(const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t info[], size_t ninfo) {
  return WithSession([&](Session& session) {
    return ConnectProcs(
        session, {CollectiveOp::kDisconnect, procs, nprocs, info, ninfo});
  });
}

pmix_status_t PMIx_Disconnect_nb(const pmix_proc_t procs[], size_t nprocs,
                                 const pmix_info_t info[], size_t ninfo,
                                 pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return StartConnecting(
      {CollectiveOp::kDisconnect, procs, nprocs, info, ninfo}, cbfunc, cbdata);
}

}  // extern "C"
