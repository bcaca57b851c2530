// A gRPC completion queue that an event loop serves in its own thread, so that
// a message needs no second thread to be read, handled and answered.
#ifndef CANOPY_SERVER_RPC_LOOP_QUEUE_H_
#define CANOPY_SERVER_RPC_LOOP_QUEUE_H_

#include <memory>

#include "common/event_loop.h"
#include "server/rpc/loop_driver.h"

namespace canopy::rpc {

// Loop thread only. While a queue is attached, the loop sleeps in gRPC's poll
// of the queue's connections, to which it adds its own descriptor. Sets gRPC to
// its "poll" strategy for the whole process (prepare_grpc.h).
class LoopQueue final : public LoopDriver, public EventLoop::Waiter {
 public:
  // `loop` must outlive this object.
  explicit LoopQueue(EventLoop* loop);
  ~LoopQueue() override;

  // Returns FAILED_PRECONDITION if gRPC does not wait in the poll hook, because
  // gRPC was used before or this release of it differs.
  absl::Status Attach(grpc::CompletionQueue* queue) override;
  void Detach() override;
  DeferredReads* reads() override;

  bool Wait(int fd, int timeout_ms) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_LOOP_QUEUE_H_
