// Shutdown of a gRPC server whose calls may wait for the thread that shuts it
// down.
#ifndef CANOPY_SERVER_CONTROL_END_CALLS_H_
#define CANOPY_SERVER_CONTROL_END_CALLS_H_

#include <absl/time/time.h>

#include <future>
#include <memory>

namespace grpc {
class Server;
}

namespace canopy::control {

// How long calls may take before they are cancelled.
inline constexpr absl::Duration kAnswerTime = absl::Milliseconds(200);

// Calls that are under way end within `time`, cancelled if need be. Blocks for
// as long.
void ShutDown(grpc::Server* server, absl::Duration time);

// Shuts the server down in a thread of its own, which does not depend on the
// result being awaited. Null: no effect.
std::future<void> EndCalls(std::shared_ptr<grpc::Server> server);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_END_CALLS_H_
