// Channels to the control services of other agents.
#ifndef CANOPY_SERVER_CONTROL_AGENT_CHANNEL_H_
#define CANOPY_SERVER_CONTROL_AGENT_CHANNEL_H_

#include <memory>
#include <string>

#include "common/status.h"
#include "server/security/credentials.h"

namespace grpc {
class Channel;
}

namespace canopy::control {

// Returns a channel to HOST:PORT or unix:PATH, which connects when it is first
// used. Fails if `security` has no credentials for the address. May block on
// the system's resolver.
Result<std::shared_ptr<grpc::Channel>> MakeAgentChannel(
    const std::string& address, const security::SecurityConfig& security);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_AGENT_CHANNEL_H_
