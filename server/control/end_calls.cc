#include "server/control/end_calls.h"

#include <absl/time/clock.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "common/posix/start_thread.h"

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
  const auto ended = std::make_shared<std::promise<void>>(std::move(done));
  Result<std::thread> thread = StartThread([server, ended]() mutable {
    ShutDown(server.get(), kAnswerTime);
    server.reset();
    ended->set_value();
  });
  if (thread.ok()) {
    thread->detach();
    return result;
  }
  // Without a thread, the calls end with the process. This thread cannot wait
  // for them, because they wait for it.
  static auto* const abandoned = new std::vector<std::shared_ptr<grpc::Server>>;
  abandoned->push_back(std::move(server));
  ended->set_value();
  return result;
}

}  // namespace canopy::control
