// Which LoopDriver this process uses.
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

// The first call decides: kThread when the environment has
// CANOPY_GRPC_DRIVER=thread, or when the self-test of kInLoop has failed
// (self_test.h), which takes some milliseconds. Any thread; the first call
// comes before any other use of gRPC, and before other threads read the
// environment.
const DriverChoice& ChooseDriver();

// `loop` must outlive it; one driver for each loop.
std::unique_ptr<LoopDriver> MakeDriver(EventLoop* loop, DriverKind kind);

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_DRIVER_CHOICE_H_
