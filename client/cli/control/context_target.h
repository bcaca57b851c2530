// Finds the leader of the overlay of a context, which controls new jobs.
#ifndef CANOPY_CLIENT_CLI_CONTROL_CONTEXT_TARGET_H_
#define CANOPY_CLIENT_CLI_CONTROL_CONTEXT_TARGET_H_

#include <string>

#include "client/cli/context/context.pb.h"
#include "client/cli/control/control_client.h"
#include "client/cli/control/control_target.h"
#include "common/status.h"

namespace canopy::cli {

// Returns the control service of a member: its socket, if the member is on this
// machine and this user owns the socket there, otherwise NetworkTargetOf.
ControlTarget TargetOf(const v1::Context& context, int member);

// Returns the network address of a member's control service, on this or another
// machine. The address is empty if the member accepts no requests from other
// machines, or if it has a loopback address but no socket of this user.
ControlTarget NetworkTargetOf(const v1::Context& context, int member);

struct RootAgent {
  ControlTarget target;
  ControlClient client;
  int member = 0;
};

// Connects to the leader, as an agent of this machine (in a cluster) or the
// first member in order that answers sees it, or to that first member if it
// does not know the leader or there is no way to it. Tries a limited number of
// members. Returns kErrUnreach if no agent answers, kErrInvalidCred if the
// credentials of the context are not the overlay's, and kErrNotSupported if the
// overlay has no TLS and no socket on this machine.
Result<RootAgent> ConnectRoot(const v1::Context& context);
// Connects to the member of this name. Returns kErrUnreach if it is not in the
// context, or if there is no way to it from here.
Result<RootAgent> ConnectMember(const v1::Context& context,
                                const std::string& name);
// Waits until the agent is the leader by its own account and so accepts jobs.
// The members before it do not answer or were removed, but the overlay may need
// time to declare them lost. If the leader or an earlier member answers, it
// replaces `*agent`. Returns kErrUnreach after 15 s, and the error of a request
// to the agent that fails.
Status WaitUntilRoot(const v1::Context& context, RootAgent* agent);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_CONTEXT_TARGET_H_
