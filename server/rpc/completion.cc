#include "server/rpc/completion.h"

#include <grpcpp/completion_queue.h>

namespace canopy::rpc {

void ServeToEnd(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Completion*>(tag)->Complete(ok);
}

}  // namespace canopy::rpc
