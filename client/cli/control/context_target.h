// Finds the agent that controls the overlay of a context.
#ifndef CANOPY_CLIENT_CLI_CONTROL_CONTEXT_TARGET_H_
#define CANOPY_CLIENT_CLI_CONTROL_CONTEXT_TARGET_H_

#include <string>

#include "client/cli/context/context.pb.h"
#include "client/cli/control/control_client.h"
#include "client/cli/control/control_target.h"
#include "common/status.h"

namespace canopy::cli {

// Returns the control service of a member: its socket if the member is on this
// machine, otherwise NetworkTargetOf. The address is empty if the socket should
// exist but does not.
ControlTarget TargetOf(const v1::Context& context, int member);

// Returns the network address of a member's control service, on this or another
// machine. The address is empty if the member accepts no requests from other
// machines.
ControlTarget NetworkTargetOf(const v1::Context& context, int member);

struct RootAgent {
  ControlTarget target;
  ControlClient client;
  int member = 0;
};

// Connects to the root, that is, the first member in order that answers.
// Returns kErrUnreach if no agent answers, and kErrInvalidCred if the
// credentials of the context are not the overlay's.
Result<RootAgent> ConnectRoot(const v1::Context& context);
// Waits until the agent accepts jobs. The members before it do not answer, but
// the overlay may need time to declare them lost. If one of these members
// answers again, it becomes the root in `*agent`.
Status WaitUntilRoot(const v1::Context& context, RootAgent* agent);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_CONTEXT_TARGET_H_
