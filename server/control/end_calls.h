// Shuts down a gRPC server whose calls may wait for the thread that shuts it
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

// The time after which calls are cancelled.
inline constexpr absl::Duration kAnswerTime = absl::Milliseconds(200);

// Waits up to `time` for the end of the running calls, and then cancels them.
// Blocks meanwhile.
void ShutDown(grpc::Server* server, absl::Duration time);

// Shuts the server down on a thread of its own, which also runs if the caller
// does not wait for the result. Has no effect if the server is null.
std::future<void> EndCalls(std::shared_ptr<grpc::Server> server);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_END_CALLS_H_
