// gRPC channels to the control service.
#ifndef CANOPY_CLIENT_CLI_CONTROL_CONTROL_CHANNEL_H_
#define CANOPY_CLIENT_CLI_CONTROL_CONTROL_CHANNEL_H_

#include <memory>

#include "client/cli/control/control_target.h"
#include "common/status.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc

namespace canopy::cli {

// Does what the first channel of a process costs, before there is a target.
void WarmUpGrpc();

// A channel that dials when it is first used. The status says why the target's
// security does not work; without TLS there is control on Unix sockets only.
Result<std::shared_ptr<grpc::Channel>> MakeControlChannel(
    const ControlTarget& target);

// The same, and waits until the connection stands, at most `timeout_ms`.
// kErrUnreach: nobody answers; kErrInvalidCred: our credentials are not the
// overlay's.
Result<std::shared_ptr<grpc::Channel>> ConnectControlChannel(
    const ControlTarget& target, int timeout_ms);

// How a call went. kErrUnreach: the agent went away; other failures carry its
// own words.
Status FromGrpc(const grpc::Status& status);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_CONTROL_CHANNEL_H_
