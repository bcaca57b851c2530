// One connection of a tool, forwarded to an agent on another machine.
#ifndef CANOPY_CLIENT_CLI_RELAY_RELAY_CALL_H_
#define CANOPY_CLIENT_CLI_RELAY_RELAY_CALL_H_

#include <grpcpp/client_context.h>

#include <functional>
#include <optional>
#include <string>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "protos/relay.grpc.pb.h"
#include "server/relay/byte_bridge.h"

namespace canopy::cli {

// The protocol of a tool.
enum class ToolProtocol { kLibpmix, kOpenPmix };

// Forwards the bytes of `socket`, which is connected and non-blocking, until
// the socket, the call or the agent ends. The creator owns this object until
// `on_done`, which is called once, on the loop's thread, and may destroy the
// object. Used on the loop's thread, except for gRPC's own calls; `loop` and
// `stub` must outlive this object.
class RelayCall
    : public relay::PieceStream,
      public grpc::ClientBidiReactor<relay::v1::Piece, relay::v1::Piece> {
 public:
  using OnEnd = std::function<void(const grpc::Status& status)>;

  RelayCall(EventLoop* loop, relay::v1::ToolRelay::Stub* stub,
            ToolProtocol protocol, UniqueFd socket,
            const relay::BridgeOptions& options, OnEnd on_done);
  RelayCall(const RelayCall&) = delete;
  RelayCall& operator=(const RelayCall&) = delete;

  // Ends the call soon.
  void Break() { bridge_->OnBroken(); }

  void Read() override;
  void Write(std::string piece) override;
  void End() override;
  void Cancel() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  template <typename Work>
  void Post(Work work);
  void Release();

  EventLoop* const loop_;
  const OnEnd on_done_;
  grpc::ClientContext context_;
  relay::v1::Piece incoming_;
  relay::v1::Piece outgoing_;
  bool reading_ = false;
  bool read_ended_ = false;
  bool ended_ = false;  // the outgoing direction has ended
  bool cancelled_ = false;
  // True if the gRPC hold was removed. While the hold exists, reads and writes
  // can be started.
  bool released_ = false;
  std::optional<relay::ByteBridge> bridge_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RELAY_RELAY_CALL_H_
