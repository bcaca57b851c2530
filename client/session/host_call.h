// Calls that the host decides (HostOp): the common parts of their requests and
// answers.
#ifndef CANOPY_CLIENT_SESSION_HOST_CALL_H_
#define CANOPY_CLIENT_SESSION_HOST_CALL_H_

#include <functional>
#include <future>
#include <span>
#include <string>
#include <string_view>

#include "client/channel/channel.h"
#include "client/session/servers.h"
#include "client/session/session.h"
#include "common/host_op.h"
#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

struct HostCall {
  HostOp op = HostOp::kJobControl;
  std::span<const pmix_proc_t> targets;  // none: the caller's namespace
  std::string call;                      // common/host_call.h
};

// Calls the host and waits for its answer. `results` are the host's and may be
// empty. Returns a PMIx status: PMIX_ERR_NOT_SUPPORTED if there is no agent or
// if the agent is too old. In a server's own process the call goes to its host;
// in the thread that would deliver the host's answer it fails with
// PMIX_ERR_WOULD_BLOCK.
int CallHost(Session& session, const HostCall& call, InfoList* results);

// Like CallHost, but does not wait. On success `done` is called once, on the
// progress thread.
int CallHostAsync(Session& session, const HostCall& call,
                  std::function<void(int status, InfoList results)> done);

// Sends calls with an encoded payload (kHostCall) to the current primary
// server, or to the host of the server that this process runs. CallerOf returns
// null if there is neither.
using HostCaller =
    std::function<int(std::string_view payload, Channel::Done done)>;
HostCaller CallerOf(Session& session);
// Returns a caller that uses one connection as long as it is open.
HostCaller CallerOf(ChannelRef channel);

// Waits for the outcome of a call. If the program drives progress, this
// function drives it meanwhile. Must not be called on the progress thread,
// which would wait for itself.
int Await(Session& session, std::future<int> done);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_HOST_CALL_H_
