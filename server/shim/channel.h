// A connection that carries frames of server/shim/protocol.h, with
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

// Loop thread only. The callbacks may destroy the channel.
class FrameChannel {
 public:
  struct Frame {
    FrameType type;
    std::string_view payload;  // until the callback returns or calls HasWaiting
    std::vector<UniqueFd> fds;
  };
  using OnFrame = std::function<void(Frame& frame)>;
  // The connection ended, or the peer broke the protocol; called once, and
  // never by Send or the destructor. Nothing is delivered after it.
  using OnClosed = std::function<void(const std::string& reason)>;

  // Takes a connected stream socket and makes it non-blocking.
  FrameChannel(EventLoop* loop, UniqueFd socket, OnFrame on_frame,
               OnClosed on_closed);
  ~FrameChannel();
  FrameChannel(const FrameChannel&) = delete;
  FrameChannel& operator=(const FrameChannel&) = delete;

  // Queues a frame of `head` and `body`; it leaves when the loop's round ends.
  // Without effect on a closed channel. At most kMaxFrameFds descriptors.
  void Send(FrameType type, std::string_view head, Bytes body = Bytes(),
            std::vector<UniqueFd> fds = {});
  // Writes what the socket takes now. True when nothing is left to be written.
  bool Flush();
  // Whether, among the frames that are here and that will be delivered, there
  // is one that `wanted` is true of. For a callback that takes long: looks at
  // some 64 KiB of them.
  using Wanted = std::function<bool(FrameType type, std::string_view payload)>;
  bool HasWaiting(const Wanted& wanted);
  // Closes because of the peer's mistake, with OnClosed.
  void Fail(const std::string& reason);

 private:
  using Alive = std::shared_ptr<bool>;

  void OnEvents(uint32_t events);
  void ScheduleFlush();
  bool ReadSome();
  // Delivers whole frames; false when the channel was closed or destroyed.
  bool DeliverFrames(const Alive& alive);

  EventLoop* const loop_;
  UniqueFd socket_;
  // Shared with a call under way, which may destroy this object.
  const std::shared_ptr<const OnFrame> on_frame_;
  const OnClosed on_closed_;
  const Alive alive_ = std::make_shared<bool>(true);

  OutQueue out_;
  bool flush_scheduled_ = false;
  bool waiting_writable_ = false;
  InBuffer in_;
  size_t partial_ = 0;  // size of the frame that in_ has the beginning of
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_CHANNEL_H_
