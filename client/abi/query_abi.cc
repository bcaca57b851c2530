// C entry points for queries, including those about support.

#include <cstddef>

#include "client/abi/callback.h"
#include "client/abi/with_session.h"
#include "client/session/query_op.h"
#include "pmix.h"
#include "pmix_server.h"

using canopy::client::OrIgnore;
using canopy::client::QueryRequest;
using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

extern "C" {

// Queries about the library's support work before it is initialised.
pmix_status_t PMIx_Query_info(pmix_query_t queries[], size_t nqueries,
                              pmix_info_t** results, size_t* nresults) {
  const QueryRequest request{queries, nqueries};
  const canopy::client::ApiCall call;
  if (!call) return canopy::client::QuerySupport(request, results, nresults);
  return canopy::client::QueryInfo(call.session(), request, results, nresults);
}

pmix_status_t PMIx_Query_info_nb(pmix_query_t queries[], size_t nqueries,
                                 pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return canopy::client::QueryInfoAsync(session, {queries, nqueries},
                                          OrIgnore(cbfunc), cbdata);
  });
}

pmix_status_t PMIx_Register_attributes(char* function, char* attrs[]) {
  return WithSession([&](Session& session) {
    return canopy::client::RegisterAttributes(session, function, attrs);
  });
}

}  // extern "C"
