// PMIx_Query_info and PMIx_Register_attributes.
#ifndef CANOPY_CLIENT_SESSION_QUERY_OP_H_
#define CANOPY_CLIENT_SESSION_QUERY_OP_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

struct QueryRequest {
  const pmix_query_t* queries = nullptr;
  size_t nqueries = 0;
};

// *results gets one info for each key that has an answer, in the order of the
// keys; the caller frees it. Null with any status but PMIX_SUCCESS and
// PMIX_ERR_PARTIAL_SUCCESS.
int QueryInfo(Session& session, const QueryRequest& request,
              pmix_info_t** results, size_t* nresults);

// The callback runs on the progress thread unless an error is returned.
int QueryInfoAsync(Session& session, const QueryRequest& request,
                   pmix_info_cbfunc_t cbfunc, void* cbdata);

// Outside of a session: only what the library supports can be asked for.
// PMIX_ERR_INIT when anything else is.
int QuerySupport(const QueryRequest& request, pmix_info_t** results,
                 size_t* nresults);

int RegisterAttributes(Session& session, const char* function,
                       char* const* attributes);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_QUERY_OP_H_
