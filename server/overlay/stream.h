// A bidirectional stream of frames and its factory: the interface between the
// overlay's state, which the loop thread owns, and gRPC.
#ifndef CANOPY_SERVER_OVERLAY_STREAM_H_
#define CANOPY_SERVER_OVERLAY_STREAM_H_

#include <functional>
#include <memory>
#include <string>

#include "common/bytes.h"
#include "common/status.h"

namespace canopy::overlay {

// The reason why a stream ended. The values are those of gRPC.
enum EndCode : int {
  kEndOk = 0,            // ended in order
  kEndCancelled = 1,     // cancelled by this side
  kEndRemoved = 5,       // NOT_FOUND: the peer's member was removed
  kEndRefused = 9,       // FAILED_PRECONDITION: version, overlay or identity
  kEndExpelled = 10,     // ABORTED: the peer has declared this agent lost
  kEndUnavailable = 14,  // not reachable, or the connection broke
  kEndWrongKey = 16,     // UNAUTHENTICATED
};

struct StreamEnd {
  int code = kEndOk;
  std::string message;

  bool ok() const { return code == kEndOk; }
};

class Stream;

// Methods are called on the loop thread.
class StreamListener {
 public:
  virtual ~StreamListener() = default;
  // A frame has arrived. Frames are reported in the order of the stream.
  virtual void OnFrame(Bytes frame) = 0;
  // The stream was busy at a call of Writable, and is not busy any more.
  virtual void OnWritable() = 0;
  // The stream has ended. This is the last call; it is not made after Close or
  // Detach.
  virtual void OnEnd(const StreamEnd& end) = 0;
};

// Used on the loop thread only. The transport keeps a stream alive as long as
// the transport itself needs it.
class Stream {
 public:
  virtual ~Stream() = default;

  // Sets the listener, which then gets the frames that arrived earlier. The
  // listener is not owned and stays set until another is set, or until Detach.
  // The listener is never called from within this call.
  virtual void Attach(StreamListener* listener) = 0;
  // Removes the listener. The stream stays open and discards incoming frames.
  virtual void Detach() = 0;

  // Returns true if a frame can be written now. Otherwise OnWritable follows
  // when the frame in progress is written, or OnEnd if the stream has ended.
  virtual bool Writable() = 0;
  // Writes one frame. Called only when Writable returns true.
  virtual void Write(const Rope& frame) = 0;

  // Records that the peer has authenticated itself: its connection is no longer
  // subject to the limits for unknown connections. Listening side only.
  virtual void SetProved() {}

  // Detaches and ends the stream. The dialling side cancels; the listening side
  // ends with `end` after the frame that is being written.
  virtual void Close(const StreamEnd& end) = 0;
  // Detaches and ends this side's direction after the frame that is being
  // written, so that the peer still receives everything. Dialling side only.
  virtual void CloseInOrder() = 0;
};

// Opens streams. Loop thread only.
class Transport {
 public:
  using Accept = std::function<void(std::shared_ptr<Stream>)>;

  virtual ~Transport() = default;
  // Listens at the address, "HOST:PORT" or that of a Unix socket. `accept` is
  // called for each incoming stream. Must be called before the first Dial.
  // Fails if the transport cannot listen there.
  virtual Status Listen(const std::string& address, Accept accept) = 0;
  // Serves incoming streams from now on, if the transport has listened without
  // serving them because it expected no peer. Called after Listen. The error is
  // that of Listen.
  virtual Status ExpectPeers() { return Status(); }
  // Returns the port after Listen; 0 for a Unix socket.
  virtual int port() const = 0;
  // Returns how streams are served, and why, as text for the log.
  virtual const std::string& driver() const = 0;
  // Opens a stream to the address. A failure is reported as the end of the
  // stream.
  virtual std::shared_ptr<Stream> Dial(const std::string& address) = 0;
  // Ends every stream and stops listening. Blocks until the transport has
  // released the streams.
  virtual void Stop() = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_STREAM_H_
