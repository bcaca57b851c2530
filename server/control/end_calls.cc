#include "server/control/end_calls.h"

#include <absl/time/clock.h>
#include <grpcpp/grpcpp.h>

#include <thread>
#include <utility>

namespace canopy::control {

void ShutDown(grpc::Server* server, absl::Duration time) {
  server->Shutdown(absl::ToChronoTime(absl::Now() + time));
  server->Wait();
}

std::future<void> EndCalls(std::shared_ptr<grpc::Server> server) {
  std::promise<void> done;
  std::future<void> result = done.get_future();
  if (server == nullptr) {
    done.set_value();
    return result;
  }
  // The shutdown waits for all calls, whatever its deadline, so it has its own
  // thread.
  std::thread([server = std::move(server), done = std::move(done)]() mutable {
    ShutDown(server.get(), kAnswerTime);
    server.reset();
    done.set_value();
  }).detach();
  return result;
}

}  // namespace canopy::control
