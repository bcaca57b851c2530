// PMIx_IOF_push on a session.
#ifndef CANOPY_CLIENT_SESSION_PUSH_OP_H_
#define CANOPY_CLIENT_SESSION_PUSH_OP_H_

#include <span>
#include <string_view>

#include "client/session/directives.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

struct PushRequest {
  std::span<const pmix_proc_t> targets;  // of one job
  const pmix_byte_object_t* bytes = nullptr;
  InfoArray directives;
};

// Input for processes of a job: these bytes, or, with PMIX_IOF_PUSH_STDIN, what
// our own standard input has from now on; PMIX_IOF_COMPLETE is the end of it.
// The end alone may come without targets: then it ends what the library
// collects, for the targets of that, and succeeds if it collects nothing.
// Success of bytes: the processes have taken them. PMIX_ERR_BAD_PARAM,
// PMIX_ERR_NOT_SUPPORTED without an agent, or the agent's status.
int PushInput(Session& session, const PushRequest& request);

// The same. The callback runs on the progress thread unless an error is
// returned; the bytes are not used after the call.
int PushInputAsync(Session& session, const PushRequest& request,
                   pmix_op_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_PUSH_OP_H_
