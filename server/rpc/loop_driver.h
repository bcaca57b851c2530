// How a gRPC completion queue gets its turn in an event loop: the one interface
// to what the agent needs of gRPC beyond its documented use.
#ifndef CANOPY_SERVER_RPC_LOOP_DRIVER_H_
#define CANOPY_SERVER_RPC_LOOP_DRIVER_H_

#include <absl/status/status.h>

#include "server/rpc/deferred_reads.h"

namespace grpc {
class CompletionQueue;
}

namespace canopy::rpc {

// Loop thread only. While attached, every tag that the queue returns is
// completed in the loop's rounds; every tag must be a Completion
// (completion.h).
class LoopDriver {
 public:
  virtual ~LoopDriver() = default;

  // `queue` must live, and not be shut down, until Detach.
  virtual absl::Status Attach(grpc::CompletionQueue* queue) = 0;
  // The queue is the caller's to serve again. No effect when not attached.
  virtual void Detach() = 0;
  // For the readers of the queue's connections. Never null.
  virtual DeferredReads* reads() = 0;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_LOOP_DRIVER_H_
