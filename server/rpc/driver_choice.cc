#include "server/rpc/driver_choice.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "server/rpc/loop_queue.h"
#include "server/rpc/prepare_grpc.h"
#include "server/rpc/queue_thread.h"
#include "server/rpc/self_test.h"

namespace canopy::rpc {
namespace {

constexpr char kVariable[] = "CANOPY_GRPC_DRIVER";

DriverChoice Choose() {
  const char* const asked = getenv(kVariable);
  if (asked != nullptr && std::string_view(asked) == "thread") {
    QuietGrpc();
    return {DriverKind::kThread, std::string("as ") + kVariable + " asks"};
  }
  const absl::Status works = TestInLoopDriver();
  if (works.ok()) return {DriverKind::kInLoop, "the self-test has passed"};
  return {DriverKind::kThread,
          "the self-test has failed: " + std::string(works.message())};
}

}  // namespace

const DriverChoice& ChooseDriver() {
  static const DriverChoice choice = Choose();
  return choice;
}

std::unique_ptr<LoopDriver> MakeDriver(EventLoop* loop, DriverKind kind) {
  if (kind == DriverKind::kThread) return std::make_unique<QueueThread>(loop);
  return std::make_unique<LoopQueue>(loop);
}

}  // namespace canopy::rpc
