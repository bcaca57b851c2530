// Streams over gRPC, and the agent's one gRPC server.
#ifndef CANOPY_SERVER_OVERLAY_GRPC_TRANSPORT_H_
#define CANOPY_SERVER_OVERLAY_GRPC_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/overlay/stream.h"
#include "server/security/credentials.h"

namespace canopy::overlay {

// Loop thread, in which gRPC's work for the links is done too
// (rpc::LoopQueue): one transport for each loop. Listen comes before the first
// Dial.
class GrpcTransport : public Transport {
 public:
  struct Options {
    security::SecurityConfig security;
    // A connection without a sign of life from the peer for this long is
    // closed.
    uint32_t detect_ms = 5000;
    // A connection must be made within this time.
    uint32_t connect_ms = 2000;
    // No peer is expected: connections are not served, and the loop sleeps
    // outside gRPC, which costs 2 us less each time.
    bool alone = false;
  };
  using Accept = std::function<void(std::shared_ptr<Stream>)>;

  // `loop` must outlive the transport.
  GrpcTransport(EventLoop* loop, Options options);
  ~GrpcTransport() override;

  // Starts the server; `accept` is called for each stream that comes in.
  Status Listen(const std::string& address, Accept accept);
  // 0 for a Unix socket.
  int port() const;

  std::shared_ptr<Stream> Dial(const std::string& address) override;

  // Ends every stream and the server; blocks until gRPC has released them.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_GRPC_TRANSPORT_H_
