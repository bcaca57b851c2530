#include "server/rpc/bare_server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <vector>

namespace canopy::rpc {
namespace {

class WithoutPlugins : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(
      std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* all) override {
    all->clear();
  }
};

}  // namespace

void MakeBare(grpc::ServerBuilder* builder) {
  grpc::EnableDefaultHealthCheckService(false);
  builder->SetOption(std::make_unique<WithoutPlugins>());
}

}  // namespace canopy::rpc
