// Whether a scheduler answers what processes ask of it as its messages are
// described in protos/host_module.proto.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_CALLS_CHECK_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_CALLS_CHECK_H_

#include "client/cli/host_module/findings.h"
#include "client/cli/host_module/probe.h"
#include "protos/host_module.pb.h"

namespace canopy::cli {

// `slot` is one of those that answer with a HostReply, and is implemented as
// the service says.
void CheckCalls(Probe* probe, hostmodule::v1::Slot slot, Findings* findings);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_CALLS_CHECK_H_
