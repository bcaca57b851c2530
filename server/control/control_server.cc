#include "server/control/control_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <memory>
#include <utility>

#include "server/control/end_calls.h"

namespace canopy::control {
namespace {

constexpr std::chrono::milliseconds kExitTime(500);

}  // namespace

ControlServer::ControlServer(EventLoop* loop)
    : listener_(loop, [this](UniqueFd socket) {
        grpc::AddInsecureChannelFromFd(server_.get(), socket.Release());
      }) {}

ControlServer::~ControlServer() {
  if (!server_) return;
  listener_.Stop();
  server_->Shutdown(std::chrono::system_clock::now() + kAnswerTime);
  server_->Wait();
}

void ControlServer::LetAnswersLeave() { Stop().wait_for(kExitTime); }

std::future<void> ControlServer::Stop() {
  if (server_) listener_.Stop();
  return EndCalls(std::move(server_));
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
