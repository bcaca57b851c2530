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

// Sends input to processes of a job: `bytes` or, with PMIX_IOF_PUSH_STDIN, this
// process's standard input from now on; PMIX_IOF_COMPLETE ends the input. A
// request with neither bytes nor targets, but with PMIX_IOF_COMPLETE, ends the
// reading of standard input for the targets of that reading, and succeeds if
// standard input is not being read. Success for bytes means that the processes
// have consumed them. Returns PMIX_ERR_BAD_PARAM for wrong arguments,
// PMIX_ERR_NOT_SUPPORTED if there is no agent or if the targets are of several
// jobs, PMIX_ERR_WOULD_BLOCK in a callback, otherwise the agent's status.
int PushInput(Session& session, const PushRequest& request);

// The non-blocking form. Calls `cbfunc` on the progress thread, unless it
// returns an error. The bytes are not used after the call.
int PushInputAsync(Session& session, const PushRequest& request,
                   pmix_op_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_PUSH_OP_H_
