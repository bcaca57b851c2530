// PMIx_IOF_pull and PMIx_IOF_deregister on a session.
#ifndef CANOPY_CLIENT_SESSION_PULL_OP_H_
#define CANOPY_CLIENT_SESSION_PULL_OP_H_

#include <cstddef>
#include <span>

#include "client/session/directives.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

struct PullRequest {
  std::span<const pmix_proc_t> procs;
  InfoArray directives;
  pmix_iof_channel_t channels = 0;
  pmix_iof_cbfunc_t callback = nullptr;  // null: the standard streams
};

// Key of a uint64_t that accompanies output: the number of bytes dropped before
// it, because the cache was full or its policy did not keep them.
inline constexpr char kDroppedBytes[] = "canopy.iof.dropped";
// Directives that the Standard does not have: skip earlier output, or read
// earlier output only.
inline constexpr char kFromNow[] = "canopy.iof.from_now";
inline constexpr char kOnlyCached[] = "canopy.iof.only_cached";

// Returns the number of the puller, above 0, or a PMIx status: the agent's,
// PMIX_ERR_NOT_SUPPORTED for standard input, for a required directive that is
// unknown, or if there is no agent, PMIX_ERR_WOULD_BLOCK in a callback, or
// PMIX_ERR_BAD_PARAM for wrong arguments. The receiver's callback runs on the
// progress thread; more output is requested only after it returns.
int PullOutput(Session& session, const PullRequest& request);

// The non-blocking form. Unless it returns an error, it calls `registered` on
// the progress thread with the status and, on success, the puller's number.
int PullOutputAsync(Session& session, const PullRequest& request,
                    pmix_hdlr_reg_cbfunc_t registered, void* cbdata);

// End the puller. Its callback gets held output first. Return
// PMIX_ERR_NOT_FOUND if there is no such puller. StopPulling returns
// PMIX_ERR_WOULD_BLOCK in a callback.
int StopPulling(Session& session, size_t handle);
int StopPullingAsync(Session& session, size_t handle, pmix_op_cbfunc_t cbfunc,
                     void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_PULL_OP_H_
