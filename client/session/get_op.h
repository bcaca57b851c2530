// PMIx_Get and PMIx_Get_nb on a session.
#ifndef CANOPY_CLIENT_SESSION_GET_OP_H_
#define CANOPY_CLIENT_SESSION_GET_OP_H_

#include <cstddef>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

int GetValue(Session& session, const pmix_proc_t* proc, const char* key,
             const pmix_info_t* info, size_t ninfo, pmix_value_t** value);

int GetValueAsync(Session& session, const pmix_proc_t* proc, const char* key,
                  const pmix_info_t* info, size_t ninfo,
                  pmix_value_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GET_OP_H_
