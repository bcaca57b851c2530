// Shutdown of a gRPC server whose calls may wait for the thread that shuts it
// down.
#ifndef CANOPY_SERVER_CONTROL_END_CALLS_H_
#define CANOPY_SERVER_CONTROL_END_CALLS_H_

#include <chrono>
#include <future>
#include <memory>

namespace grpc {
class Server;
}

namespace canopy::control {

// How long calls may take before they are cancelled.
inline constexpr std::chrono::milliseconds kAnswerTime(200);

// Shuts the server down in a thread of its own, which does not depend on the
// result being awaited. Null: no effect.
std::future<void> EndCalls(std::shared_ptr<grpc::Server> server);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_END_CALLS_H_
