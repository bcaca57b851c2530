// Servers without the service that lists their services.
#ifndef CANOPY_SERVER_RPC_WITHOUT_REFLECTION_H_
#define CANOPY_SERVER_RPC_WITHOUT_REFLECTION_H_

#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>

#include <memory>
#include <vector>

namespace canopy::rpc {

// Removes the service that the reflection library adds to every server that is
// linked with it.
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

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_WITHOUT_REFLECTION_H_
