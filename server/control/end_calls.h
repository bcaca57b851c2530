// The end of a gRPC server whose calls may wait for the thread that ends it.
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

// Ends the server in a thread of its own, which goes on when nobody waits for
// the result. Null: there is nothing to end.
std::future<void> EndCalls(std::shared_ptr<grpc::Server> server);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_END_CALLS_H_
