// PMIx_Get and PMIx_Get_nb on a session.
#ifndef CANOPY_CLIENT_SESSION_GET_OP_H_
#define CANOPY_CLIENT_SESSION_GET_OP_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Blocks until the value is there or can no longer arrive. The caller frees
// *value, except with PMIX_GET_POINTER_VALUES, when the session keeps it; with
// PMIX_GET_STATIC_VALUES the caller's own value is overwritten. A null `key`
// means all keys.
int GetValue(Session& session, const pmix_proc_t* proc, const char* key,
             const pmix_info_t* info, size_t ninfo, pmix_value_t** value);

// The non-blocking form. Calls `cbfunc`, which must not be null, on the
// progress thread, unless it returns an error.
int GetValueAsync(Session& session, const pmix_proc_t* proc, const char* key,
                  const pmix_info_t* info, size_t ninfo,
                  pmix_value_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GET_OP_H_
