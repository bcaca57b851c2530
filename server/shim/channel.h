// A connection that carries the frames of server/shim/protocol.h, with
// descriptors, on an event loop.
#ifndef CANOPY_SERVER_SHIM_CHANNEL_H_
#define CANOPY_SERVER_SHIM_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/posix/in_buffer.h"
#include "common/posix/out_queue.h"
#include "common/posix/unique_fd.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Delivers at most kFramesPerRound frames in one round of the loop, because a
// frame may be small and the work that it causes large. Loop thread only. The
// callbacks may destroy the channel.
class FrameChannel {
 public:
  static constexpr int kFramesPerRound = 64;

  struct Frame {
    FrameType type;
    // The payload is valid until the callback returns or calls HasWaiting.
    std::string_view payload;
    std::vector<UniqueFd> fds;
  };
  using OnFrame = std::function<void(Frame& frame)>;
  // Called once when the connection has ended or the peer broke the protocol;
  // never called by Send or the destructor. No frame is delivered afterwards.
  using OnClosed = std::function<void(const std::string& reason)>;

  // Takes ownership of a connected stream socket and makes it non-blocking.
  FrameChannel(EventLoop* loop, UniqueFd socket, OnFrame on_frame,
               OnClosed on_closed);
  // Sets the largest payload that the peer may send; kMaxPayload by default.
  void set_max_payload(uint32_t bytes) { max_payload_ = bytes; }
  ~FrameChannel();
  FrameChannel(const FrameChannel&) = delete;
  FrameChannel& operator=(const FrameChannel&) = delete;

  // Queues a frame of `head` and `body`, which is written at the end of the
  // round of the loop. Has no effect on a closed channel. `fds` contains at
  // most kMaxFrameFds descriptors.
  void Send(FrameType type, std::string_view head, Bytes body = Bytes(),
            std::vector<UniqueFd> fds = {});
  // Writes as much as the socket accepts. Returns true if nothing remains.
  bool Flush();
  // Returns true if `wanted` holds for a frame that has arrived and will be
  // delivered. Intended for callbacks that take long; examines about 64 KiB of
  // frames.
  using Wanted = std::function<bool(FrameType type, std::string_view payload)>;
  bool HasWaiting(const Wanted& wanted);
  // Closes the channel because of an error of the peer, and calls OnClosed.
  void Fail(const std::string& reason);

 private:
  using Alive = std::shared_ptr<bool>;

  void OnEvents(uint32_t events);
  void ScheduleFlush();
  // Reads and delivers frames as far as this round allows.
  void Serve();
  void ServeLater();
  bool ReadSome();
  // Delivers complete frames as far as this round allows. Returns false if the
  // channel was closed or destroyed.
  bool DeliverFrames(const Alive& alive);

  EventLoop* const loop_;
  UniqueFd socket_;
  // The function is shared with a call in progress, which may destroy this
  // object.
  const std::shared_ptr<const OnFrame> on_frame_;
  const OnClosed on_closed_;
  const Alive alive_ = std::make_shared<bool>(true);

  uint32_t max_payload_ = kMaxPayload;
  OutQueue out_;
  bool flush_scheduled_ = false;
  bool waiting_writable_ = false;
  InBuffer in_;
  size_t partial_ = 0;  // size of the frame whose beginning is in in_
  uint64_t round_ = 0;  // the last round in which frames were delivered
  int delivered_ = 0;   // number of frames in that round
  bool serve_scheduled_ = false;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_CHANNEL_H_
