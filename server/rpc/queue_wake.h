// Ends the wait of the thread that waits at a gRPC completion queue.
#ifndef CANOPY_SERVER_RPC_QUEUE_WAKE_H_
#define CANOPY_SERVER_RPC_QUEUE_WAKE_H_

#include <grpcpp/completion_queue.h>

#include "server/rpc/completion.h"

struct grpc_call;

namespace canopy::rpc {

// Puts an empty completion into a queue: that of a batch without operations,
// which gRPC completes at once. A grpc::Alarm that is already due would have
// the same effect through gRPC's timers, with ten times the instructions.
class QueueWake final : public Completion,
                        private grpc::internal::CompletionQueueTag {
 public:
  // This object must outlive the completions that it puts into `queue`.
  explicit QueueWake(grpc::CompletionQueue* queue);
  QueueWake(const QueueWake&) = delete;
  QueueWake& operator=(const QueueWake&) = delete;
  ~QueueWake() override;

  // Any thread, but one call at a time. The queue returns one completion for
  // each call.
  void Post();

  void Complete(bool) override {}

 private:
  bool FinalizeResult(void** tag, bool* ok) override;

  // A call that is never started, on a channel without a peer. A batch needs a
  // call.
  grpc_call* const call_;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_QUEUE_WAKE_H_
