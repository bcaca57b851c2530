#include "server/control/control_server.h"

#include <absl/time/time.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <memory>
#include <utility>

#include "server/control/end_calls.h"

namespace canopy::control {
namespace {

constexpr absl::Duration kExitTime = absl::Milliseconds(500);

}  // namespace

ControlServer::ControlServer(EventLoop* loop)
    : listener_(loop, [this](UniqueFd socket) {
        grpc::AddInsecureChannelFromFd(server_.get(), socket.Release());
      }) {}

ControlServer::~ControlServer() {
  if (!server_) return;
  listener_.Stop();
  ShutDown(server_.get(), kAnswerTime);
}

void ControlServer::LetAnswersLeave() {
  Stop().wait_for(absl::ToChronoMilliseconds(kExitTime));
}

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
