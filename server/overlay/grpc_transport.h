// Streams over gRPC, and the agent's one gRPC server.
#ifndef CANOPY_SERVER_OVERLAY_GRPC_TRANSPORT_H_
#define CANOPY_SERVER_OVERLAY_GRPC_TRANSPORT_H_

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/event_loop.h"
#include "server/overlay/stream.h"
#include "server/rpc/driver_kind.h"
#include "server/security/credentials.h"

namespace canopy::overlay {

// Loop thread: one transport for each loop. gRPC's completions reach the loop
// by an rpc::LoopDriver. Listen comes before the first Dial.
class GrpcTransport : public Transport {
 public:
  struct Options {
    security::SecurityConfig security;
    // A connection without a sign of life from the peer for this long is
    // closed.
    absl::Duration detect = absl::Seconds(5);
    // A connection must be made within this time.
    absl::Duration connect = absl::Seconds(2);
    // A connection whose peer has not proved who it is (Stream::SetProved) ends
    // after this time, or `detect` if that is longer.
    absl::Duration silence = absl::Seconds(10);
    // No peer is expected: connections are not served, and the loop sleeps
    // outside gRPC, which costs 2 us less each time.
    bool alone = false;
    // Unset: as rpc::ChooseDriver does.
    std::optional<rpc::DriverKind> driver;
    // Lines for the log about who connects, at a limited rate. May be null.
    std::function<void(const std::string& line)> log;
  };
  using Accept = std::function<void(std::shared_ptr<Stream>)>;

  // `loop` must outlive the transport.
  GrpcTransport(EventLoop* loop, Options options);
  ~GrpcTransport() override;

  // Starts the server on HOST:PORT; `accept` is called for each stream that
  // comes in.
  // UNAVAILABLE when the address is in use or not this host's; otherwise the
  // credentials do not work, or gRPC does not fit the driver.
  absl::Status Listen(const std::string& address, Accept accept);
  // After Listen.
  int port() const;
  // How the links are served, and why so: for the log.
  const std::string& driver() const;

  std::shared_ptr<Stream> Dial(const std::string& address) override;

  // Ends every stream and the server; blocks until gRPC has released them.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_GRPC_TRANSPORT_H_
