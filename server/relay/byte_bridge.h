// Transfers the bytes of a stream socket over a stream of pieces. Both ends of
// a relayed connection use it.
#ifndef CANOPY_SERVER_RELAY_BYTE_BRIDGE_H_
#define CANOPY_SERVER_RELAY_BYTE_BRIDGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/event_loop.h"
#include "common/posix/out_queue.h"
#include "common/posix/unique_fd.h"

namespace canopy::relay {

inline constexpr size_t kMaxPiece = size_t{64} << 10;

// The stream of pieces. Completions are reported later, never from within these
// calls.
class PieceStream {
 public:
  virtual ~PieceStream() = default;
  // Reads the next piece; completes by OnPiece or OnPeerEnd. At most one read
  // is pending.
  virtual void Read() = 0;
  // Writes a piece; completes by OnWritten. At most one write is pending.
  virtual void Write(std::string piece) = 0;
  // Ends the outgoing direction. Must not be called while a write is pending.
  // Called once. Reads may follow.
  virtual void End() = 0;
  // Aborts the stream: pending operations fail soon. Called at most once,
  // before or after End; no Read follows.
  virtual void Cancel() = 0;
};

struct BridgeOptions {
  // Nanoseconds; see relay.proto.
  int64_t beat_ns = int64_t{15} * 1000 * 1000 * 1000;
  // Nanoseconds; see relay.proto.
  int64_t silence_ns = int64_t{60} * 1000 * 1000 * 1000;
  // Time limit for the remaining data once one side has ended, in nanoseconds.
  int64_t linger_ns = int64_t{5} * 1000 * 1000 * 1000;
  // If true, the end of the stream closes the whole socket, not only its
  // writing direction.
  bool closes_at_end = false;
};

// At most one piece is in flight in each direction, so a side that does not
// consume its data stops the other one. Loop thread only; loop and stream must
// outlive this object.
class ByteBridge {
 public:
  // Starts at once. `socket` must be connected and non-blocking.
  ByteBridge(EventLoop* loop, UniqueFd socket, PieceStream* stream,
             const BridgeOptions& options);
  ~ByteBridge();
  ByteBridge(const ByteBridge&) = delete;
  ByteBridge& operator=(const ByteBridge&) = delete;

  // Completions of the stream.
  void OnPiece(std::string_view piece);
  void OnPeerEnd();
  void OnWritten(bool ok);
  // Called when the stream has failed.
  void OnBroken() { Break(); }

 private:
  void OnSocket(uint32_t events);
  void ReadSocket();
  void Deliver();
  void EndSocket();
  void SayEnd();
  void Break();
  void Linger();
  void Beat();
  void UpdateWatch();

  EventLoop* const loop_;
  const UniqueFd socket_;
  PieceStream* const stream_;
  const BridgeOptions options_;
  OutQueue out_;  // the part of the last piece that the socket has not taken
  bool reading_ = false;
  bool writing_ = false;
  bool peer_ended_ = false;
  bool shut_ = false;     // the socket's writing direction was shut down
  bool deaf_ = false;     // the socket takes no more data
  bool hung_up_ = false;  // the socket's peer has ended; data may be left
  bool socket_ended_ = false;  // no more data is read from the socket
  bool broken_ = false;
  bool end_said_ = false;
  bool wrote_ = false;  // a piece was written since the last beat
  int64_t heard_ = 0;   // when the current read began
  uint32_t watched_ = 0;
  EventLoop::TimerId beat_timer_ = 0;
  EventLoop::TimerId linger_timer_ = 0;
};

}  // namespace canopy::relay

#endif  // CANOPY_SERVER_RELAY_BYTE_BRIDGE_H_
