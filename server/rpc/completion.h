// The tags of gRPC completion queues.
#ifndef CANOPY_SERVER_RPC_COMPLETION_H_
#define CANOPY_SERVER_RPC_COMPLETION_H_

namespace grpc {
class CompletionQueue;
}

namespace canopy::rpc {

// A tag.
class Completion {
 public:
  virtual ~Completion() = default;
  // Called on the thread that serves the queue, which is the loop's thread for
  // a queue attached to a LoopDriver.
  virtual void Complete(bool ok) = 0;
};

// Completes what the queue returns until it is shut down and empty. All tags of
// the queue must be Completions. Any thread, but not while a LoopDriver serves
// the queue.
void ServeToEnd(grpc::CompletionQueue* queue);

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_COMPLETION_H_
