// The ways in which an event loop serves a gRPC completion queue.
#ifndef CANOPY_SERVER_RPC_DRIVER_KIND_H_
#define CANOPY_SERVER_RPC_DRIVER_KIND_H_

namespace canopy::rpc {

enum class DriverKind {
  // The loop sleeps in gRPC's own poll, and reads may be deferred. This kind is
  // fast, but relies on behaviour that gRPC does not document (loop_queue.h,
  // deferred_reads.h).
  kInLoop,
  // A thread serves the queue and passes completions to the loop; no read is
  // deferred (queue_thread.h). This kind uses gRPC as documented.
  kThread,
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_DRIVER_KIND_H_
