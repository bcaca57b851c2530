// PMIx_Put, PMIx_Store_internal and PMIx_Commit on a session.
#ifndef CANOPY_CLIENT_SESSION_PUT_OP_H_
#define CANOPY_CLIENT_SESSION_PUT_OP_H_

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Stages a copy of the value for the next CommitPuts; this process finds the
// value at once. The scopes PMIX_DEL_* remove the key instead, for which
// `value` may be null. A put of PMIX_HOSTNAME succeeds without an effect,
// because the host has published it. Errors are, for example,
// PMIX_ERR_BAD_PARAM for another reserved key that the host provides, and
// PMIX_ERR_NOT_SUPPORTED for an unknown scope.
int PutValue(Session& session, pmix_scope_t scope, const char* key,
             const pmix_value_t* value);
// Stores a copy of the value as data of `proc`, which may be any process. Only
// the calling process can get it.
int StoreInternal(Session& session, const pmix_proc_t* proc, const char* key,
                  const pmix_value_t* value);
// Sends the staged puts. Returns before the agent has them, unless they must be
// sent as a message (Commits::Commit).
int CommitPuts(Session& session);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_PUT_OP_H_
