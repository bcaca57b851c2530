// The tags of gRPC completion queues.
#ifndef CANOPY_SERVER_RPC_COMPLETION_H_
#define CANOPY_SERVER_RPC_COMPLETION_H_

namespace grpc {
class CompletionQueue;
}

namespace canopy::rpc {

// The base class of tags.
class Completion {
 public:
  virtual ~Completion() = default;
  // Called when the queue returns the tag, on the thread that serves the queue.
  // For a queue attached to a LoopDriver this is the loop's thread.
  virtual void Complete(bool ok) = 0;
};

// Calls Complete of the tags that the queue returns until it is shut down and
// empty. All tags of the queue must be Completions. Any thread, but not while a
// LoopDriver serves the queue.
void ServeToEnd(grpc::CompletionQueue* queue);

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_COMPLETION_H_
