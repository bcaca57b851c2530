// Checks that a scheduler answers the requests of processes as
// protos/canopy/hostmodule/v1/host_module.proto describes.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_CALLS_CHECK_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_CALLS_CHECK_H_

#include "client/cli/host_module/findings.h"
#include "client/cli/host_module/probe.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"

namespace canopy::cli {

// Checks `slot`, a request that is answered with a HostReply. The service
// declares `slot` as implemented.
void CheckCalls(Probe* probe, hostmodule::v1::Feature slot, Findings* findings);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_CALLS_CHECK_H_
