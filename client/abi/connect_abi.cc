// Connecting processes of several jobs.

#include <cstddef>

#include "client/abi/with_session.h"
#include "client/session/connect_op.h"
#include "pmix.h"

using canopy::client::CollectiveOperation;
using canopy::client::ConnectProcs;
using canopy::client::ConnectProcsAsync;
using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

extern "C" {

pmix_status_t PMIx_Connect(const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t info[], size_t ninfo) {
  return WithSession([&](Session& session) {
    return ConnectProcs(
        session, {CollectiveOperation::kConnect, procs, nprocs, info, ninfo});
  });
}

pmix_status_t PMIx_Connect_nb(const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t info[], size_t ninfo,
                              pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return ConnectProcsAsync(
        session, {CollectiveOperation::kConnect, procs, nprocs, info, ninfo},
        cbfunc, cbdata);
  });
}

pmix_status_t PMIx_Disconnect(const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t info[], size_t ninfo) {
  return WithSession([&](Session& session) {
    return ConnectProcs(session, {CollectiveOperation::kDisconnect, procs,
                                  nprocs, info, ninfo});
  });
}

pmix_status_t PMIx_Disconnect_nb(const pmix_proc_t procs[], size_t nprocs,
                                 const pmix_info_t info[], size_t ninfo,
                                 pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return ConnectProcsAsync(
        session, {CollectiveOperation::kDisconnect, procs, nprocs, info, ninfo},
        cbfunc, cbdata);
  });
}

}  // extern "C"
