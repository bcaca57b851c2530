// Frames of common/local_protocol.h over a connected stream socket: one system
// call sends a frame, one receives everything that has arrived.
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

// Send may be called from any thread. Read, Next and TakeFd may be used by one
// thread at a time, which the owner ensures. Never raises SIGPIPE.
class FrameSocket {
 public:
  explicit FrameSocket(UniqueFd fd);

  int fd() const { return fd_.get(); }

  // Sets the counter of commits, which is incremented before each commit is
  // sent (see BarrierParticipant::commits). Null: commits are not counted. The
  // counter must outlive the socket.
  void CountCommits(std::atomic<uint32_t>* counter) { commits_ = counter; }

  // Sends a whole frame and blocks while the peer does not read. Returns a PMIx
  // status: kErrOutOfResource if the payload exceeds the limit of its type,
  // kErrLostConnection if the peer is gone.
  int Send(local::FrameType type, uint64_t tag, std::string_view payload);

  enum class ReadState {
    kData,     // data arrived; call Next until it returns no value
    kNothing,  // no data, and `wait` was false or the socket's timeout expired
    kClosed,   // end of stream, an error, or invalid data
  };
  // Receives the data that has arrived, and its descriptors. With `wait`,
  // blocks until there is data or the socket's timeout has expired. Invalidates
  // earlier frames.
  ReadState Read(bool wait);

  // Returns the next complete frame that was read. Returns no value if there is
  // none.
  std::optional<Frame> Next();

  // Returns true if invalid data arrived; the data after it cannot be parsed.
  bool broken() const { return broken_; }

  // Returns the oldest descriptor that was not taken, or no descriptor.
  // Descriptors arrive in the order of the frames they belong to.
  UniqueFd TakeFd();

  // Ends the stream: a waiting Read returns kClosed, and Send fails.
  void Shutdown();

 private:
  bool HeaderOf(local::FrameHeader* header) const;
  // Makes room in the buffer for the rest of the incomplete frame, and for at
  // least one byte. Returns false if memory is exhausted.
  bool MakeRoom();
  int SendAll(iovec* parts, int count) CANOPY_REQUIRES(send_mu_);

  UniqueFd fd_;
  std::atomic<uint32_t>* commits_ = nullptr;
  Mutex send_mu_;  // held while a frame is sent
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // beginning of the data that has not been returned
  size_t end_ = 0;
  bool broken_ = false;
  std::deque<UniqueFd> fds_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_CHANNEL_FRAME_SOCKET_H_
