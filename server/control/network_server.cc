#include "server/control/network_server.h"

#include <absl/time/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>

#include <utility>

#include "server/control/end_calls.h"

namespace canopy::control {
namespace {

constexpr absl::Duration kExitTime = absl::Milliseconds(500);

// The library for reflection adds its service to every server as soon as it is
// linked.
class WithoutReflection : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(
      std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* all) override {
    std::erase_if(*all, [](const auto& plugin) {
      return plugin->name() == "proto_server_reflection";
    });
  }
};

}  // namespace

struct NetworkServer::Impl {
  // Refuses what is not there. A server with health alone would have nothing
  // that polls.
  grpc::CallbackGenericService refusal;
  // Shared with the thread that shuts it down.
  std::shared_ptr<grpc::Server> server;
};

NetworkServer::NetworkServer() : impl_(std::make_unique<Impl>()) {}

NetworkServer::~NetworkServer() {
  if (!impl_->server) return;
  ShutDown(impl_->server.get(), absl::ZeroDuration());
}

void NetworkServer::LetAnswersLeave() {
  Stop().wait_for(absl::ToChronoMilliseconds(kExitTime));
}

std::future<void> NetworkServer::Stop() {
  return EndCalls(std::move(impl_->server));
}

Status NetworkServer::Start(const NetworkOptions& options) {
  auto credentials =
      security::MakeServerCredentials(options.security, options.address);
  if (!credentials.ok()) return credentials.status();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  if (options.reflection) {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  } else {
    builder.SetOption(std::make_unique<WithoutReflection>());
  }
  int port = 0;
  builder.AddListeningPort(options.address, *credentials, &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterCallbackGenericService(&impl_->refusal);
  for (grpc::Service* s : options.services) builder.RegisterService(s);
  impl_->server = builder.BuildAndStart();
  if (impl_->server == nullptr) {
    return Status(kErrUnreach, "can not listen on " + options.address +
                                   ": in use, or not an address of this host");
  }
  address_ = options.address.substr(0, options.address.rfind(':') + 1) +
             std::to_string(port);
  return Status();
}

}  // namespace canopy::control
