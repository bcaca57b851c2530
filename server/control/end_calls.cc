#include "server/control/end_calls.h"

#include <grpcpp/grpcpp.h>

#include <thread>
#include <utility>

namespace canopy::control {

std::future<void> EndCalls(std::shared_ptr<grpc::Server> server) {
  std::promise<void> done;
  std::future<void> result = done.get_future();
  if (server == nullptr) {
    done.set_value();
    return result;
  }
  // Shutting down waits for all calls, whatever its deadline.
  std::thread([server = std::move(server), done = std::move(done)]() mutable {
    server->Shutdown(std::chrono::system_clock::now() + kAnswerTime);
    server->Wait();
    server.reset();
    done.set_value();
  }).detach();
  return result;
}

}  // namespace canopy::control
