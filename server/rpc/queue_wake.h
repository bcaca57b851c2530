// Brings the thread that waits at a gRPC completion queue out of its wait.
#ifndef CANOPY_SERVER_RPC_QUEUE_WAKE_H_
#define CANOPY_SERVER_RPC_QUEUE_WAKE_H_

#include <grpcpp/completion_queue.h>

#include "server/rpc/completion.h"

struct grpc_call;

namespace canopy::rpc {

// Puts a completion that means nothing into a queue: that of a batch without
// operations, which gRPC completes at once. A grpc::Alarm that is due already
// does the same through gRPC's timers, at ten times the instructions.
class QueueWake final : public Completion,
                        private grpc::internal::CompletionQueueTag {
 public:
  // Must outlive the completions that it puts into `queue`.
  explicit QueueWake(grpc::CompletionQueue* queue);
  QueueWake(const QueueWake&) = delete;
  QueueWake& operator=(const QueueWake&) = delete;
  ~QueueWake() override;

  // Any thread, one at a time. The queue returns it once for each.
  void Post();

  void Complete(bool) override {}

 private:
  bool FinalizeResult(void** tag, bool* ok) override;

  // Never started, of a channel to nowhere: batches need one.
  grpc_call* const call_;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_QUEUE_WAKE_H_
