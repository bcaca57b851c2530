// Frames of common/local_protocol.h over a connected stream socket: one
// system call sends a frame, one receives all that has arrived.
#ifndef CANOPY_CLIENT_CHANNEL_FRAME_SOCKET_H_
#define CANOPY_CLIENT_CHANNEL_FRAME_SOCKET_H_

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "common/local_protocol.h"
#include "common/mutex.h"
#include "common/posix/unique_fd.h"

namespace canopy::client {

struct Frame {
  local::FrameType type{};
  uint64_t tag = 0;
  // Valid until the next Read.
  std::string_view payload;
};

// Send may be called from any thread. Read, Next and TakeFd belong to one
// thread at a time, which the owner arranges. Never raises SIGPIPE.
class FrameSocket {
 public:
  explicit FrameSocket(UniqueFd fd);

  int fd() const { return fd_.get(); }

  // Counts commits up before they are sent (see BarrierParticipant::commits);
  // null: does not. The counter outlives the socket.
  void CountCommits(std::atomic<uint32_t>* counter) { commits_ = counter; }

  // Sends a whole frame, waiting while the peer does not read. Returns a PMIx
  // status: kErrOutOfResource when the payload is larger than a frame may be,
  // kErrLostConnection when the peer is gone.
  int Send(local::FrameType type, uint64_t tag, std::string_view payload);

  enum class ReadState {
    kData,     // something arrived; call Next until it gives nothing
    kNothing,  // nothing there, and `wait` was false or the socket's time up
    kClosed,   // end of stream, an error, or something that is no frame
  };
  ReadState Read(bool wait);

  // The next whole frame of what was read.
  std::optional<Frame> Next();

  // What arrived is no frame: nothing after it can be understood.
  bool broken() const { return broken_; }

  // Descriptors arrive in the order of the frames they belong to. Gives the
  // oldest that was not taken; invalid when there is none.
  UniqueFd TakeFd();

  // Ends the stream: a Read that waits returns kClosed, Send fails.
  void Shutdown();

 private:
  bool HeaderOf(local::FrameHeader* header) const;
  // Makes room for at least one more byte and for the frame that has begun.
  bool MakeRoom();
  int SendAll(iovec* parts, int count) CANOPY_REQUIRES(send_mu_);

  UniqueFd fd_;
  std::atomic<uint32_t>* commits_ = nullptr;
  Mutex send_mu_;  // a frame is sent as a whole
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // of what is not handed out yet
  size_t end_ = 0;
  bool broken_ = false;
  std::deque<UniqueFd> fds_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_CHANNEL_FRAME_SOCKET_H_
