// A connection that carries frames of server/shim/protocol.h, with
// descriptors, on an event loop.
#ifndef CANOPY_SERVER_SHIM_CHANNEL_H_
#define CANOPY_SERVER_SHIM_CHANNEL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Loop thread only. The callbacks may destroy the channel.
class FrameChannel {
 public:
  struct Frame {
    FrameType type;
    std::string_view payload;  // until the callback returns
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
  // Writes what the socket takes now.
  void Flush();
  // Closes because of the peer's mistake, with OnClosed.
  void Fail(const std::string& reason);

 private:
  struct Outgoing {
    std::string head;
    Bytes body;
    std::vector<UniqueFd> fds;
    size_t size() const { return head.size() + body.size(); }
  };
  using Alive = std::shared_ptr<bool>;

  void OnEvents(uint32_t events);
  void ScheduleFlush();
  // Sends some queued frames; false when the socket takes no more.
  bool SendSome();
  void Consumed(size_t bytes);
  bool ReadSome();
  // Delivers whole frames; false when the channel was closed or destroyed.
  bool DeliverFrames(const Alive& alive);
  bool TakeFds(size_t count, std::vector<UniqueFd>* fds);
  void MakeRoom();

  EventLoop* const loop_;
  UniqueFd socket_;
  // Shared with a call under way, which may destroy this object.
  const std::shared_ptr<const OnFrame> on_frame_;
  const OnClosed on_closed_;
  const Alive alive_ = std::make_shared<bool>(true);

  std::deque<Outgoing> out_;
  size_t out_offset_ = 0;  // of the first frame, already sent
  bool flush_scheduled_ = false;
  bool waiting_writable_ = false;

  std::unique_ptr<char[]> in_;
  size_t in_capacity_ = 0;
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  std::deque<UniqueFd> in_fds_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_CHANNEL_H_
