// Tests whether the driver of DriverKind::kInLoop works with the loaded gRPC.
#ifndef CANOPY_SERVER_RPC_SELF_TEST_H_
#define CANOPY_SERVER_RPC_SELF_TEST_H_

#include <absl/status/status.h>

namespace canopy::rpc {

// Serves a stream over a connection within this process. gRPC must wait in the
// agent's poll function; wake-ups of both kinds (posted work, a completion of
// another thread) must end that wait; and a deferred read must get its message
// when its connection becomes readable. Takes some milliseconds and blocks for
// a few seconds at most. An error describes what did not work. Any thread;
// needs no event loop.
absl::Status TestInLoopDriver();

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_SELF_TEST_H_
