// From a context to the agent that controls its overlay.
#ifndef CANOPY_CLIENT_CLI_CONTROL_CONTEXT_TARGET_H_
#define CANOPY_CLIENT_CLI_CONTROL_CONTEXT_TARGET_H_

#include <string>

#include "client/cli/context/context.pb.h"
#include "client/cli/control/control_client.h"
#include "client/cli/control/control_target.h"
#include "common/status.h"

namespace canopy::cli {

// The control service of a member: its socket when it is on this machine. An
// empty address: it should have one here and has none.
ControlTarget TargetOf(const v1::Context& context, int member);

// The same on the network, wherever the member is. An empty address: it takes
// no requests from other machines.
ControlTarget NetworkTargetOf(const v1::Context& context, int member);

struct RootAgent {
  ControlTarget target;
  ControlClient client;
  int member = 0;
};

// The first member in order that answers: the root.
Result<RootAgent> ConnectRoot(const v1::Context& context);
// Returns when it takes jobs: those before it do not answer, but it may take
// a while to count them as lost. When one of them answers again, that is the
// root.
Status WaitUntilRoot(const v1::Context& context, RootAgent* agent);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_CONTEXT_TARGET_H_
