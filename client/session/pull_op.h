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
  pmix_iof_cbfunc_t callback = nullptr;  // null: our own standard streams
};

// Key of a uint64_t that comes with output: bytes that were dropped before it,
// as neither the cache nor its policy had room for them.
inline constexpr char kDroppedBytes[] = "canopy.iof.dropped";
// Directives of our own, which the Standard has no words for: without what was
// written before, and nothing but that.
inline constexpr char kFromNow[] = "canopy.iof.from_now";
inline constexpr char kOnlyCached[] = "canopy.iof.only_cached";

// Returns the number of the puller, above 0, or a PMIx status: the agent's,
// PMIX_ERR_NOT_SUPPORTED for standard input and without an agent,
// PMIX_ERR_BAD_PARAM. The callback runs on the progress thread, and no more
// output is asked for before it returns.
int PullOutput(Session& session, const PullRequest& request);

// The same; `registered` is called with the number on the progress thread
// unless an error is returned.
int PullOutputAsync(Session& session, const PullRequest& request,
                    pmix_hdlr_reg_cbfunc_t registered, void* cbdata);

// What is held for the callback is given to it first. PMIX_ERR_NOT_FOUND: there
// is no such puller.
int StopPulling(Session& session, size_t handle);
int StopPullingAsync(Session& session, size_t handle, pmix_op_cbfunc_t cbfunc,
                     void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_PULL_OP_H_
