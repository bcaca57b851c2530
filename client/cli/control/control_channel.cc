#include "client/cli/control/control_channel.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client/cli/context/key_bytes.h"
#include "common/hosts.h"
#include "common/posix/channel_target.h"
#include "common/user_calls.h"
#include "common/wording/transport_text.h"
#include "server/security/credentials.h"

namespace canopy::cli {
namespace {

// With a short backoff, an agent that returns, or its successor, is found soon.
constexpr int kMaxBackoffMs = 1000;

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
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxBackoffMs);
  args.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return args;
}

// True if a TLS handshake failed since the process started.
std::atomic<bool> saw_handshake_fail{false};

void OnGrpcLog(gpr_log_func_args* args) {
  if (std::strstr(args->message, "Handshake failed") != nullptr) {
    saw_handshake_fail = true;
  }
}

// gRPC's log is suppressed, except for users who set its own variable; only
// handshake failures are recorded. The library is never shut down, because a
// shutdown between two channels would stop and restart its threads.
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

Status Unreachable(const ControlTarget& target) {
  if (saw_handshake_fail) {
    return Status(kErrInvalidCred,
                  "the agent at " + target.address +
                      " does not accept our cluster key or certificates");
  }
  return Status(kErrUnreach, "no agent answers at " + target.address);
}

}  // namespace

void WarmUpGrpc() {
  PrepareGrpc();
  // The channel is never freed, because that would shut the library down.
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
  auto credentials = security::MakeCallerCredentials(*config, target.address);
  if (!credentials.ok()) return credentials.status();
  grpc::ChannelArguments args = Arguments();
  std::string name = security::ServerNameOverride(*config);
  if (name.empty() && config->mode == security::SecurityMode::kFiles) {
    name = HostOfAddress(target.address);
  }
  if (!name.empty()) args.SetSslTargetNameOverride(name);
  return grpc::CreateCustomChannel(ChannelTarget(target.address), *credentials,
                                   args);
}

Result<std::shared_ptr<grpc::Channel>> ConnectControlChannel(
    const ControlTarget& target, int timeout_ms) {
  Result<std::shared_ptr<grpc::Channel>> channel = MakeControlChannel(target);
  if (!channel.ok()) return channel;
  const auto deadline =
      std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms);
  // A failed attempt is final; a caller that waits for an agent to come up
  // calls again.
  grpc_connectivity_state state = (*channel)->GetState(true);
  while (state != GRPC_CHANNEL_READY) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE ||
        !(*channel)->WaitForStateChange(state, deadline)) {
      return Unreachable(target);
    }
    state = (*channel)->GetState(true);
  }
  return channel;
}

void NameMember(const std::string& member, grpc::ClientContext* context) {
  if (!member.empty()) context->AddMetadata(kMemberMetadata, member);
}

Status FromGrpc(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return Status();
    case grpc::StatusCode::UNAVAILABLE:
      return Status(kErrUnreach, "the connection to the agent was lost: " +
                                     TransportText(status.error_message()));
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Status(kErrTimeout, "the agent did not answer in time");
    case grpc::StatusCode::UNAUTHENTICATED:
      return Status(kErrInvalidCred, status.error_message());
    case grpc::StatusCode::PERMISSION_DENIED:
      return Status(kErrNoPermissions, status.error_message());
    case grpc::StatusCode::NOT_FOUND:
      return Status(kErrNotFound, status.error_message());
    case grpc::StatusCode::FAILED_PRECONDITION:
      return Status(kErrResourceBusy, status.error_message());
    case grpc::StatusCode::UNIMPLEMENTED:
      return Status(kErrNotSupported, "the agent does not support that");
    default:
      return Status(kErrServerFailedRequest, status.error_message());
  }
}

}  // namespace canopy::cli
