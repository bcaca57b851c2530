// The connection to the node's agent: requests and their answers, and messages
// that the agent sends without a request. A blocking call waits in its caller's
// thread: one caller at a time reads the socket and passes the others their
// answers. The progress thread reads only while callbacks are expected and no
// caller waits.
#ifndef CANOPY_CLIENT_CHANNEL_CHANNEL_H_
#define CANOPY_CLIENT_CHANNEL_CHANNEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/channel/frame_socket.h"
#include "client/channel/progress.h"
#include "common/local_protocol.h"
#include "common/mutex.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::client {

// The answer to a request. `status` is a PMIx status: the agent's, or
// kErrLostConnection if the agent went away first. When the agent is gone and
// the sink reattaches to a successor, pending requests are resent to it with
// the same tags.
struct Reply {
  int status = 0;
  std::string payload;
};

// Receives messages that the agent sends without a request. The thread that
// reads calls these functions one at a time, in order of arrival and before the
// answers that arrive later. They must not block or call the channel.
class ChannelSink {
 public:
  virtual ~ChannelSink() = default;
  // Called for an event. `payload` is the payload of a kEvent frame, valid
  // during the call.
  virtual void OnEvent(std::string_view payload) = 0;
  // Called for a segment. `payload` is the payload of a kSegment frame, and
  // `fd` is the segment's memory file.
  virtual void OnSegment(std::string_view payload, UniqueFd fd) = 0;
  // Called once, when the agent is gone and Close was not called.
  virtual void OnLost() = 0;
  // Called when the agent has announced a handover.
  virtual void OnHandover(std::string_view) {}
  // Called when a request was answered, before its caller gets the answer.
  virtual void OnAnswered(local::FrameType /*type*/,
                          std::string_view /*request*/, int /*status*/) {}
  // Called when the agent is gone. Reattaches to a successor and restores this
  // process's state there. Blocks during the search for a successor, which has
  // a time limit. Returns null if no successor was found.
  virtual std::unique_ptr<FrameSocket> Reattach() { return nullptr; }
};

class Channel {
 public:
  using Done = std::function<void(Reply)>;

  // `sink` and `progress` must outlive the channel, and `progress` must be
  // stopped before the channel is destroyed. The constructor dispatches the
  // frames that `socket` has already read.
  Channel(std::unique_ptr<FrameSocket> socket, ChannelSink* sink,
          Progress* progress);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Sends a request and waits for its answer. Any thread, including callbacks.
  Reply Call(local::FrameType type, std::string_view payload);

  // Sends a request; `done` runs later as a task of `progress`. If the result
  // is an error, `done` never runs.
  int CallAsync(local::FrameType type, std::string_view payload, Done done);

  // Sends a request that has no answer. If the agent turns out to be gone,
  // returns kErrLostConnection; the channel reattaches, and the request is not
  // resent.
  int Post(local::FrameType type, std::string_view payload);

  // Sets whether events of the agent must be delivered at once.
  void ExpectEvents(bool on);

  // Returns true if the agent has closed the connection, even if this object
  // has not read the end yet.
  bool PeerIsGone() const;
  // Reads the frames that the agent has sent before it ended. Returns false
  // while another thread reads them.
  bool ReadLast();

  // Waits until the agent closes the connection, or for `timeout_ms`.
  void WaitForEnd(int timeout_ms);

  // Ends the connection. Pending and later requests get `status`.
  void Close(int status = kErrLostConnection);

  // Returns true once the connection has ended for good, by either side.
  bool lost() const;

 private:
  struct Waiter {
    Reply reply;
    bool done = false;
    bool promoted = false;  // this caller reads next
    CondVar wake;
  };
  struct Pending {
    Waiter* waiter = nullptr;  // null: `done` is called
    Done done;
    local::FrameType type{};
    // Points to the waiting caller's data or to `copy`.
    std::string_view payload;
    std::unique_ptr<std::string> copy;
  };
  using SocketRef = std::shared_ptr<FrameSocket>;

  int Register(Pending pending, uint64_t* tag, SocketRef* socket)
      CANOPY_EXCLUDES(mu_);
  int SendOrForget(FrameSocket& socket, local::FrameType type, uint64_t tag,
                   std::string_view payload);
  SocketRef socket() const;
  void WaitFor(Waiter* waiter) CANOPY_REQUIRES(mu_);
  void Lead(Waiter* waiter) CANOPY_REQUIRES(mu_);
  // Called when the reading thread stops reading. Makes another waiting caller
  // read, or else the progress thread if data is expected.
  void PassOn() CANOPY_REQUIRES(mu_);
  bool ReadAndDispatch(bool wait);
  void Dispatch(const Frame& frame);
  void DispatchReply(const Frame& frame);
  void Complete(Pending pending, Reply reply) CANOPY_REQUIRES(mu_);
  void OnReadable();
  // The socket, for the thread that reads. Only that thread replaces the
  // socket, so it needs no lock.
  FrameSocket& read_socket() const CANOPY_NO_THREAD_SAFETY_ANALYSIS {
    return *socket_;
  }
  void WatchLocked() CANOPY_REQUIRES(mu_);
  // Called when the agent is gone: reattaches to a successor, or ends the
  // connection.
  void ReattachOrEnd() CANOPY_REQUIRES(mu_);
  void EndLocked(int status) CANOPY_REQUIRES(mu_);

  ChannelSink* const sink_;
  Progress* const progress_;

  mutable Mutex mu_;
  // The thread that reads may replace the socket.
  SocketRef socket_ CANOPY_GUARDED_BY(mu_);
  Progress::WatchId watch_ CANOPY_GUARDED_BY(mu_) = 0;  // watches the socket
  bool reading_ CANOPY_GUARDED_BY(mu_) = false;
  bool ended_ CANOPY_GUARDED_BY(mu_) = false;
  int end_status_ CANOPY_GUARDED_BY(mu_) = kErrLostConnection;
  // True if the end of the connection to the agent was read.
  bool down_ CANOPY_GUARDED_BY(mu_) = false;
  bool expect_events_ CANOPY_GUARDED_BY(mu_) = false;
  uint64_t next_tag_ CANOPY_GUARDED_BY(mu_);
  size_t async_pending_ CANOPY_GUARDED_BY(mu_) = 0;
  std::unordered_map<uint64_t, Pending> pending_ CANOPY_GUARDED_BY(mu_);
  std::vector<Waiter*> followers_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_CHANNEL_CHANNEL_H_
