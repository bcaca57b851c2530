// PMIx_Log on a session.
#ifndef CANOPY_CLIENT_SESSION_LOG_OP_H_
#define CANOPY_CLIENT_SESSION_LOG_OP_H_

#include "client/session/directives.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Returns PMIX_ERR_BAD_PARAM if there is no data, or if a channel's text is not
// a string.
int LogData(Session& session, const InfoArray& data,
            const InfoArray& directives);

// The non-blocking form. Calls `cbfunc`, which must not be null, on the
// progress thread, unless it returns an error.
int LogDataAsync(Session& session, const InfoArray& data,
                 const InfoArray& directives, pmix_op_cbfunc_t cbfunc,
                 void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_LOG_OP_H_
