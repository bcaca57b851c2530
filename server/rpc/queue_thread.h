// The driver of DriverKind::kThread: a thread waits for a queue's completions
// and passes them to the loop.
#ifndef CANOPY_SERVER_RPC_QUEUE_THREAD_H_
#define CANOPY_SERVER_RPC_QUEUE_THREAD_H_

#include <memory>

#include "common/event_loop.h"
#include "server/rpc/loop_driver.h"

namespace canopy::rpc {

// Loop thread only.
class QueueThread final : public LoopDriver {
 public:
  // `loop` must outlive this object.
  explicit QueueThread(EventLoop* loop);
  ~QueueThread() override;

  absl::Status Attach(grpc::CompletionQueue* queue) override;
  // Also completes the tags that the thread has already taken from the queue.
  void Detach() override;
  DeferredReads* reads() override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with posted work
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_QUEUE_THREAD_H_
