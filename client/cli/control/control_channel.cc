#include "client/cli/control/control_channel.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client/cli/context/key_bytes.h"
#include "server/security/credentials.h"

namespace canopy::cli {
namespace {

Result<security::SecurityConfig> SecurityOf(const ControlTarget& target) {
  security::SecurityConfig config;
  if (target.address.starts_with("unix:")) {
    config.mode = security::SecurityMode::kPlaintext;
    return config;
  }
  if (target.security == "files") {
    config.mode = security::SecurityMode::kFiles;
    config.ca_path = target.tls_ca;
    config.certificate_path = target.tls_cert;
    config.private_key_path = target.tls_key;
    return config;
  }
  Result<security::ClusterKey> key = ClusterKeyOf(target.cluster_key);
  if (!key.ok()) return key.status();
  config.key = *key;
  return config;
}

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(-1);
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return args;
}

std::atomic<bool> saw_handshake_fail{false};

void OnGrpcLog(gpr_log_func_args* args) {
  if (std::strstr(args->message, "Handshake failed") != nullptr) {
    saw_handshake_fail = true;
  }
}

// Who asks for gRPC's log by its own variable gets it. The library stays up
// once it is: to take it down between two channels, and up again, starts and
// joins its threads each time.
void PrepareGrpc() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) {
      gpr_set_log_function(OnGrpcLog);
    }
    grpc_init();
    return true;
  }();
  (void)once;
}

}  // namespace

bool SawHandshakeFail() { return saw_handshake_fail; }

void WarmUpGrpc() {
  PrepareGrpc();
  // Never freed: its end would take the library down again.
  static const auto* const channel =
      new std::shared_ptr<grpc::Channel>(grpc::CreateCustomChannel(
          "unix:/nonexistent", grpc::InsecureChannelCredentials(),
          Arguments()));
  (void)channel;
}

Result<std::shared_ptr<grpc::Channel>> MakeControlChannel(
    const ControlTarget& target) {
  PrepareGrpc();
  if (target.security == "plaintext" && !target.address.starts_with("unix:")) {
    return Status(kErrNotSupported,
                  "agents with --security plaintext take requests on their own "
                  "machines only: use canopy on a node of the overlay, or tls");
  }
  Result<security::SecurityConfig> config = SecurityOf(target);
  if (!config.ok()) return config.status();
  auto credentials = security::MakeChannelCredentials(*config, target.address);
  if (!credentials.ok()) return credentials.status();
  grpc::ChannelArguments args = Arguments();
  const std::string name = security::ServerNameOverride(*config);
  if (!name.empty()) args.SetSslTargetNameOverride(name);
  return grpc::CreateCustomChannel(target.address, *credentials, args);
}

}  // namespace canopy::cli
