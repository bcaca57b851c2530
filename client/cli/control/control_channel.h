// gRPC channels to the control service.
#ifndef CANOPY_CLIENT_CLI_CONTROL_CONTROL_CHANNEL_H_
#define CANOPY_CLIENT_CLI_CONTROL_CONTROL_CHANNEL_H_

#include <memory>
#include <string>

#include "client/cli/control/control_target.h"
#include "common/status.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace canopy::cli {

// Initializes gRPC in advance, before a target is known.
void WarmUpGrpc();

// Returns a channel that connects when it is first used. Fails if the target's
// security cannot be set up; without TLS the control service is available on
// Unix sockets only.
Result<std::shared_ptr<grpc::Channel>> MakeControlChannel(
    const ControlTarget& target);

// Like MakeControlChannel, but waits until the connection is established, for
// at most `timeout_ms`. Also returns kErrUnreach if the target does not answer,
// and kErrInvalidCred if the TLS handshake fails because the credentials are
// not the overlay's.
Result<std::shared_ptr<grpc::Channel>> ConnectControlChannel(
    const ControlTarget& target, int timeout_ms);

// Names the member of a target (ControlTarget::member) in a call.
void NameMember(const std::string& member, grpc::ClientContext* context);

// Converts the result of a call. kErrUnreach means that the connection was
// lost, kErrTimeout that the agent did not answer in time, and kErrNotSupported
// that it does not have the call. Other failures have the agent's message.
Status FromGrpc(const grpc::Status& status);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_CONTROL_CHANNEL_H_
