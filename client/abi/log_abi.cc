// C entry points for logging.

#include <cstddef>

#include "client/abi/callback.h"
#include "client/abi/with_session.h"
#include "client/session/log_op.h"
#include "pmix.h"

using canopy::client::OrIgnore;
using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

extern "C" {

pmix_status_t PMIx_Log(const pmix_info_t data[], size_t ndata,
                       const pmix_info_t directives[], size_t ndirs) {
  return WithSession([&](Session& session) {
    return canopy::client::LogData(session, {data, ndata}, {directives, ndirs});
  });
}

pmix_status_t PMIx_Log_nb(const pmix_info_t data[], size_t ndata,
                          const pmix_info_t directives[], size_t ndirs,
                          pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return canopy::client::LogDataAsync(
        session, {data, ndata}, {directives, ndirs}, OrIgnore(cbfunc), cbdata);
  });
}

}  // extern "C"
