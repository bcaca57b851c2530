#include "server/control/network_server.h"

#include <absl/time/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>

#include <utility>

#include "server/control/descriptors.h"
#include "server/control/end_calls.h"
#include "server/rpc/network_port.h"
#include "server/rpc/without_reflection.h"
#include "server/security/peer_proof.h"

namespace canopy::control {
namespace {

constexpr absl::Duration kExitTime = absl::Milliseconds(500);

}  // namespace

struct NetworkServer::Impl {
  explicit Impl(EventLoop* l) : loop(l) {}
  // Returns the server's credentials. If certificates come from an operator's
  // authority, the credentials also check the caller of each call.
  Result<std::shared_ptr<grpc::ServerCredentials>> Credentials(
      const NetworkOptions& options);

  EventLoop* const loop;
  std::unique_ptr<rpc::NetworkPort> port;
  // Rejects calls of unknown methods. It also gives the server a thread that
  // polls, which a server with the health service alone would not have.
  grpc::CallbackGenericService refusal;
  // The server is shared with the thread that shuts it down.
  std::shared_ptr<grpc::Server> server;
};

NetworkServer::NetworkServer(EventLoop* loop)
    : impl_(std::make_unique<Impl>(loop)) {}

NetworkServer::~NetworkServer() {
  if (!impl_->server) return;
  impl_->port->Close();
  ShutDown(impl_->server.get(), absl::ZeroDuration());
}

void NetworkServer::LetAnswersLeave() {
  Stop().wait_for(absl::ToChronoMilliseconds(kExitTime));
}

std::future<void> NetworkServer::Stop() {
  if (impl_->port) impl_->port->Close();
  return EndCalls(std::move(impl_->server));
}

Result<std::shared_ptr<grpc::ServerCredentials>>
NetworkServer::Impl::Credentials(const NetworkOptions& options) {
  const security::SecurityConfig& security = options.security;
  auto made = security::MakeServerCredentials(security, options.address);
  if (!made.ok() || security.mode != security::SecurityMode::kFiles) {
    return made;
  }
  if (!security.key) {
    return Status(kErrInvalidCred, "callers cannot be checked without a key");
  }
  security::PeerRule rule{*security.key, security.caller_names, nullptr};
  if (options.log) {
    rule.refused = [l = loop, log = options.log](const std::string& reason) {
      l->Post([log, reason] { log("a call is refused: " + reason); });
    };
  }
  (*made)->SetAuthMetadataProcessor(security::MakePeerCheck(std::move(rule)));
  return made;
}

Status NetworkServer::Start(const NetworkOptions& options) {
  auto credentials = impl_->Credentials(options);
  if (!credentials.ok()) return credentials.status();
  impl_->port = std::make_unique<rpc::NetworkPort>(
      impl_->loop, rpc::NetworkPort::Options{options.log, 0});
  if (Status s = impl_->port->Listen(options.address); !s.ok()) return s;
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  if (options.reflection) {
    RegisterDescriptors();
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  } else {
    builder.SetOption(std::make_unique<rpc::WithoutReflection>());
  }
  impl_->port->AddWithCallsTo(&builder, *credentials);
  builder.RegisterCallbackGenericService(&impl_->refusal);
  for (grpc::Service* s : options.services) builder.RegisterService(s);
  impl_->server = builder.BuildAndStart();
  if (impl_->server == nullptr) {
    return Status(kErrUnreach, "gRPC could not start a server");
  }
  impl_->port->Open();
  address_ = options.address.substr(0, options.address.rfind(':') + 1) +
             std::to_string(impl_->port->port());
  return Status();
}

}  // namespace canopy::control
