// What a completion queue of gRPC returns.
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
  // The thread that serves the queue: the loop's, for a queue that is attached
  // to a LoopDriver.
  virtual void Complete(bool ok) = 0;
};

// Completes what the queue, whose tags are all Completions, returns until it is
// shut down and empty. Any thread; not while a LoopDriver has the queue.
void ServeToEnd(grpc::CompletionQueue* queue);

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_COMPLETION_H_
