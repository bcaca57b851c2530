// Lets an event loop serve a gRPC completion queue. This interface hides all
// use of gRPC that goes beyond gRPC's documentation.
#ifndef CANOPY_SERVER_RPC_LOOP_DRIVER_H_
#define CANOPY_SERVER_RPC_LOOP_DRIVER_H_

#include <absl/status/status.h>

#include "server/rpc/deferred_reads.h"

namespace grpc {
class CompletionQueue;
}

namespace canopy::rpc {

// Loop thread only. While attached, every tag that the queue returns is
// completed in a round of the loop. Every tag must be a Completion
// (completion.h).
class LoopDriver {
 public:
  virtual ~LoopDriver() = default;

  // Begins to serve the queue, which must live, and must not be shut down,
  // until Detach. Returns an error if the loaded gRPC does not fit the driver.
  virtual absl::Status Attach(grpc::CompletionQueue* queue) = 0;
  // Returns the queue to the caller, which serves it again. No effect if no
  // queue is attached.
  virtual void Detach() = 0;
  // Returns the deferred reads of the queue's connections; never null.
  virtual DeferredReads* reads() = 0;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_LOOP_DRIVER_H_
