// Carries the bytes of a stream socket over a stream of pieces: the part of a
// relayed connection that its two ends have in common.
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

// The other side. What it answers comes later, never from within these calls.
class PieceStream {
 public:
  virtual ~PieceStream() = default;
  // The next piece, answered by OnPiece or OnPeerEnd. One at a time.
  virtual void Read() = 0;
  // Answered by OnWritten. One at a time.
  virtual void Write(std::string piece) = 0;
  // There is nothing more to write, and nothing under way. Once. Reads may
  // follow.
  virtual void End() = 0;
  // Gives up: what is under way fails soon. At most once, before or after End;
  // no Read follows.
  virtual void Cancel() = 0;
};

struct BridgeOptions {
  int64_t beat_ns = int64_t{15} * 1000 * 1000 * 1000;     // see relay.proto
  int64_t silence_ns = int64_t{60} * 1000 * 1000 * 1000;  // likewise
  // How long the rest may take once one of the two sides has ended.
  int64_t linger_ns = int64_t{5} * 1000 * 1000 * 1000;
  // The stream's end ends the whole socket, not what is written to it alone.
  bool closes_at_end = false;
};

// At most one piece is under way in each direction: a side that does not take
// what it is sent stops the other one. Loop thread only; the loop and the
// stream outlive it.
class ByteBridge {
 public:
  // `socket` is connected and does not block. Begins at once.
  ByteBridge(EventLoop* loop, UniqueFd socket, PieceStream* stream,
             const BridgeOptions& options);
  ~ByteBridge();
  ByteBridge(const ByteBridge&) = delete;
  ByteBridge& operator=(const ByteBridge&) = delete;

  // From the stream.
  void OnPiece(std::string_view piece);
  void OnPeerEnd();
  void OnWritten(bool ok);
  // The stream is of no further use.
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
  OutQueue out_;  // of the last piece, what the socket has not taken
  bool reading_ = false;
  bool writing_ = false;
  bool peer_ended_ = false;
  bool shut_ = false;          // what is written to the socket
  bool deaf_ = false;          // it takes no more
  bool hung_up_ = false;       // its end is near, behind what it has sent
  bool socket_ended_ = false;  // nothing more comes from it
  bool broken_ = false;
  bool end_said_ = false;
  bool wrote_ = false;  // since the last beat
  int64_t heard_ = 0;   // when the peer last had a chance to be silent
  uint32_t watched_ = 0;
  EventLoop::TimerId beat_timer_ = 0;
  EventLoop::TimerId linger_timer_ = 0;
};

}  // namespace canopy::relay

#endif  // CANOPY_SERVER_RELAY_BYTE_BRIDGE_H_
