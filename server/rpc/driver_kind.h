// The ways in which a gRPC completion queue gets its turn in an event loop.
#ifndef CANOPY_SERVER_RPC_DRIVER_KIND_H_
#define CANOPY_SERVER_RPC_DRIVER_KIND_H_

namespace canopy::rpc {

enum class DriverKind {
  // The loop sleeps in gRPC's own poll, and reads may be deferred: fast. Needs
  // what gRPC does not document (loop_queue.h, deferred_reads.h).
  kInLoop,
  // A thread serves the queue and hands completions over to the loop; no read
  // is
  // deferred (queue_thread.h). Uses gRPC as documented.
  kThread,
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_DRIVER_KIND_H_
