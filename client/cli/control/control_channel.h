// gRPC channels to the control service.
#ifndef CANOPY_CLIENT_CLI_CONTROL_CONTROL_CHANNEL_H_
#define CANOPY_CLIENT_CLI_CONTROL_CONTROL_CHANNEL_H_

#include <memory>

#include "client/cli/control/control_target.h"
#include "common/status.h"

namespace grpc {
class Channel;
}

namespace canopy::cli {

// Does what the first channel of a process costs, before there is a target.
void WarmUpGrpc();

// gRPC's own log goes nowhere: what it knows and a user should is here. True
// when a TLS handshake failed since the process started.
bool SawHandshakeFail();

// A channel that dials when it is first used. The status says why the target's
// security does not work; without TLS there is control on Unix sockets only.
Result<std::shared_ptr<grpc::Channel>> MakeControlChannel(
    const ControlTarget& target);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_CONTROL_CHANNEL_H_
