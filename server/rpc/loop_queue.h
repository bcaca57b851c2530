// A gRPC completion queue that an event loop serves in its own thread, so that
// a message needs no second thread to be read, handled and answered.
#ifndef CANOPY_SERVER_RPC_LOOP_QUEUE_H_
#define CANOPY_SERVER_RPC_LOOP_QUEUE_H_

#include <memory>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/rpc/deferred_reads.h"

namespace grpc {
class CompletionQueue;
}

namespace canopy::rpc {

// Initialises gRPC for the process as an agent needs it: silent unless the
// environment sets GRPC_VERBOSITY, and waiting in poll. Must come before any
// other use of gRPC to have its effect, and before other threads read the
// environment. Any number of times.
void PrepareGrpc();

// What a completion queue returns as tag.
class Completion {
 public:
  virtual ~Completion() = default;
  // The loop's thread.
  virtual void Complete(bool ok) = 0;
};

// Loop thread only. While attached, the loop sleeps in gRPC's poll of the
// queue's connections, to which it adds its own descriptors; every tag of the
// queue must be a Completion and is completed in the loop's rounds.
class LoopQueue : public EventLoop::Waiter {
 public:
  // `loop` must outlive it. One for each loop. Calls PrepareGrpc.
  explicit LoopQueue(EventLoop* loop);
  ~LoopQueue() override;

  // `queue` must live until Detach. Fails when gRPC was first used without
  // PrepareGrpc and waits in another way.
  Status Attach(grpc::CompletionQueue* queue);
  void Detach();

  bool Wait(int fd, int timeout_ms) override;

  // For the readers of the queue's connections; reads are deferred only while
  // the queue is attached.
  DeferredReads* reads();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Completes what the queue returns until it is shut down and empty. Any thread,
// but for an attached queue.
void ServeToEnd(grpc::CompletionQueue* queue);

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_LOOP_QUEUE_H_
