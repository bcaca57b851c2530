// PMIx_Put, PMIx_Store_internal and PMIx_Commit on a session.
#ifndef CANOPY_CLIENT_SESSION_PUT_OP_H_
#define CANOPY_CLIENT_SESSION_PUT_OP_H_

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

int PutValue(Session& session, pmix_scope_t scope, const char* key,
             const pmix_value_t* value);
int StoreInternal(Session& session, const pmix_proc_t* proc, const char* key,
                  const pmix_value_t* value);
// Sends the staged puts and returns before the agent has them.
int CommitPuts(Session& session);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_PUT_OP_H_
