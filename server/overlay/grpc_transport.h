// Streams over gRPC, and the agent's only gRPC server.
#ifndef CANOPY_SERVER_OVERLAY_GRPC_TRANSPORT_H_
#define CANOPY_SERVER_OVERLAY_GRPC_TRANSPORT_H_

#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/overlay/stream.h"
#include "server/rpc/driver_kind.h"
#include "server/security/credentials.h"

namespace canopy::overlay {

// Loop thread only; one transport for each loop. An rpc::LoopDriver brings
// gRPC's completions to the loop. Listen must be called before the first Dial.
class GrpcTransport : public Transport {
 public:
  struct Options {
    security::SecurityConfig security;
    // A connection is closed if there was no sign of life from the peer for
    // this time.
    absl::Duration detect = absl::Seconds(5);
    // Time limit for establishing a connection to a peer.
    absl::Duration connect = absl::Seconds(2);
    // A connection whose peer has not authenticated itself (Stream::SetProved)
    // ends after this time, or after `detect` if that is longer.
    absl::Duration silence = absl::Seconds(10);
    // True if no peer is expected: connections are not served until
    // ExpectPeers. The loop then sleeps outside of gRPC, which saves 2 us each
    // time.
    bool alone = false;
    // Unset: decided by rpc::ChooseDriver.
    std::optional<rpc::DriverKind> driver;
    // Called with lines for the log about connections, at a limited rate. May
    // be null.
    std::function<void(const std::string& line)> log;
  };

  // `loop` must outlive the transport.
  GrpcTransport(EventLoop* loop, Options options);
  ~GrpcTransport() override;

  // Returns kErrUnreach if the address is in use or does not belong to this
  // host, and other errors if the credentials do not work or gRPC does not fit
  // the driver.
  Status Listen(const std::string& address, Accept accept) override;
  Status ExpectPeers() override;
  int port() const override;
  const std::string& driver() const override;
  std::shared_ptr<Stream> Dial(const std::string& address) override;
  void Stop() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_GRPC_TRANSPORT_H_
