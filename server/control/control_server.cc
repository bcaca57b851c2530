#include "server/control/control_server.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

namespace canopy::control {

ControlServer::ControlServer() = default;

ControlServer::~ControlServer() {
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(200));
  server_->Wait();
  unlink(path_.c_str());
}

Status ControlServer::Start(const std::string& socket_path,
                            grpc::Service* service) {
  path_ = socket_path;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort("unix:" + socket_path,
                           grpc::InsecureServerCredentials());
  builder.RegisterService(service);
  server_ = builder.BuildAndStart();
  if (!server_) {
    return Status(kErrServerFailedRequest, "cannot listen on " + socket_path);
  }
  chmod(socket_path.c_str(), 0600);
  return Status();
}

}  // namespace canopy::control
