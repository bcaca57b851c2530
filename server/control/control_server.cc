#include "server/control/control_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <utility>

namespace canopy::control {

ControlServer::ControlServer(EventLoop* loop)
    : listener_(loop, [this](UniqueFd socket) {
        grpc::AddInsecureChannelFromFd(server_.get(), socket.Release());
      }) {}

ControlServer::~ControlServer() { Stop(); }

void ControlServer::Stop() {
  if (!server_) return;
  listener_.Stop();
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(200));
  server_->Wait();
  server_.reset();
}

Status ControlServer::Start(const std::string& socket_path,
                            grpc::Service* service) {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(service);
  server_ = builder.BuildAndStart();
  if (!server_) {
    return Status(kErrServerFailedRequest, "cannot start the control service");
  }
  return listener_.Start(socket_path);
}

}  // namespace canopy::control
