// Calls that the host decides (HostOp): what their requests and their answers
// have in common.
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
  std::string call;                      // common/local_protocol.h, kHostCall
};

// Returns a PMIx status: PMIX_ERR_NOT_SUPPORTED without an agent, or from one
// that is too old. In a server's own process its host is asked; in the thread
// in which that would answer it is PMIX_ERR_WOULD_BLOCK. `results` are the
// host's, empty where it gives none.
int CallHost(Session& session, const HostCall& call, InfoList* results);

// Without an error `done` is called once, on the progress thread.
int CallHostAsync(Session& session, const HostCall& call,
                  std::function<void(int status, InfoList results)> done);

// Sends calls whose payload is made (kHostCall) to the primary server, as it is
// now, or to the host of which this process runs the server. Null: there is
// neither.
using HostCaller =
    std::function<int(std::string_view payload, Channel::Done done)>;
HostCaller CallerOf(Session& session);
// The same by one connection, for as long as it is there.
HostCaller CallerOf(ChannelRef channel);

// What comes of a call; where the program drives progress, this does it
// meanwhile. Not for the progress thread, which would wait for itself.
int Await(Session& session, std::future<int> done);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_HOST_CALL_H_
