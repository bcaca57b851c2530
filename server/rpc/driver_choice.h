// Selects the LoopDriver of this process.
#ifndef CANOPY_SERVER_RPC_DRIVER_CHOICE_H_
#define CANOPY_SERVER_RPC_DRIVER_CHOICE_H_

#include <memory>
#include <string>

#include "common/event_loop.h"
#include "server/rpc/driver_kind.h"
#include "server/rpc/loop_driver.h"

namespace canopy::rpc {

struct DriverChoice {
  DriverKind kind = DriverKind::kInLoop;
  std::string reason;  // for the log
};

// Returns the choice, which the first call makes: kThread if the environment
// has CANOPY_GRPC_DRIVER=thread or the self-test of kInLoop fails
// (self_test.h), which takes some milliseconds. Any thread. The first call must
// come before any other use of gRPC, and before other threads read the
// environment.
const DriverChoice& ChooseDriver();

// Returns a driver for `loop`, which must outlive it; one driver for each loop.
std::unique_ptr<LoopDriver> MakeDriver(EventLoop* loop, DriverKind kind);

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_DRIVER_CHOICE_H_
