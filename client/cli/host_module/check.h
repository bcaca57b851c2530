// The conformance test of a scheduler's service.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_CHECK_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_CHECK_H_

#include <memory>

#include "client/cli/host_module/check.pb.h"

namespace grpc {
class Channel;
}

namespace canopy::cli {

// Plays an overlay of its own, so nothing that the service does for others is
// touched. `timeout_ms`: within which it is to answer. Blocks; a service that
// answers is checked in a few times that.
v1::HostModuleCheck CheckHostModule(
    const std::shared_ptr<grpc::Channel>& channel, int timeout_ms);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_CHECK_H_
