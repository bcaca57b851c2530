#include "server/control/control_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace canopy::control {
namespace {

constexpr std::chrono::milliseconds kAnswerTime(200);
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

void ControlServer::LetAnswersLeave() {
  if (!server_) return;
  listener_.Stop();
  auto done = std::make_shared<std::promise<void>>();
  // Shutting down waits for all calls, whatever its deadline: in a thread of
  // its own, which the next program ends.
  std::thread([server = server_, done] {
    server->Shutdown(std::chrono::system_clock::now() + kAnswerTime);
    done->set_value();
  }).detach();
  done->get_future().wait_for(kExitTime);
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
