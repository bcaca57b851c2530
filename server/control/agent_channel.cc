#include "server/control/agent_channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "common/posix/channel_target.h"

namespace canopy::control {

Result<std::shared_ptr<grpc::Channel>> MakeAgentChannel(
    const std::string& address, const security::SecurityConfig& security) {
  auto credentials = security::MakeCallerCredentials(security, address);
  if (!credentials.ok()) return credentials.status();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  const std::string name = security::ServerNameOverride(security);
  if (!name.empty()) arguments.SetSslTargetNameOverride(name);
  return grpc::CreateCustomChannel(ChannelTarget(address), *credentials,
                                   arguments);
}

}  // namespace canopy::control
