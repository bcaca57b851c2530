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

// Answers queries. *results gets one info for each answered key, in the order
// of the keys; the caller frees it. It is null unless the status is
// PMIX_SUCCESS or PMIX_ERR_PARTIAL_SUCCESS. Returns PMIX_ERR_BAD_PARAM if
// `results` or `nresults` is null.
int QueryInfo(Session& session, const QueryRequest& request,
              pmix_info_t** results, size_t* nresults);

// The non-blocking form. Calls `cbfunc` on the progress thread, unless it
// returns an error.
int QueryInfoAsync(Session& session, const QueryRequest& request,
                   pmix_info_cbfunc_t cbfunc, void* cbdata);

// Answers queries outside of a session, which may concern only the library's
// support. Returns PMIX_ERR_INIT for any other key, and otherwise as QueryInfo.
int QuerySupport(const QueryRequest& request, pmix_info_t** results,
                 size_t* nresults);

// Records the attributes that a function of this program supports, for later
// queries. `attributes` ends with null.
int RegisterAttributes(Session& session, const char* function,
                       char* const* attributes);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_QUERY_OP_H_
