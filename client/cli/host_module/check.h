// The conformance test of a scheduler's service.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_CHECK_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_CHECK_H_

#include <memory>

#include "client/cli/host_module/check.pb.h"

namespace grpc {
class Channel;
}

namespace canopy::cli {

// Checks the service behind the channel. Simulates its own overlay, so other
// users of the service are not affected. `timeout_ms` is the time for one
// answer. Blocks for a few times that long if the service answers.
v1::HostModuleCheck CheckHostModule(
    const std::shared_ptr<grpc::Channel>& channel, int timeout_ms);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_CHECK_H_
