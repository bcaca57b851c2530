// A bidirectional stream of frames and its factory: the interface between the
// overlay's state, which the loop thread owns, and gRPC with its threads.
#ifndef CANOPY_SERVER_OVERLAY_STREAM_H_
#define CANOPY_SERVER_OVERLAY_STREAM_H_

#include <functional>
#include <memory>
#include <string>

#include "common/bytes.h"
#include "common/status.h"

namespace canopy::overlay {

// Why a stream ended; values are those of gRPC.
enum EndCode : int {
  kEndOk = 0,            // in order
  kEndCancelled = 1,     // by this side
  kEndRefused = 9,       // FAILED_PRECONDITION: version, overlay or identity
  kEndExpelled = 10,     // ABORTED: the peer has declared this agent lost
  kEndUnavailable = 14,  // can not be reached, or the connection broke
  kEndWrongKey = 16,     // UNAUTHENTICATED
};

struct StreamEnd {
  int code = kEndOk;
  std::string message;

  bool ok() const { return code == kEndOk; }
};

class Stream;

// Called on the loop thread.
class StreamListener {
 public:
  virtual ~StreamListener() = default;
  virtual void OnFrame(Bytes frame) = 0;
  // The stream was busy when Writable was asked, and is not any more.
  virtual void OnWritable() = 0;
  // Last call. Not made after Close or Detach.
  virtual void OnEnd(const StreamEnd& end) = 0;
};

// Loop thread. The transport keeps a stream alive as long as it needs it.
class Stream {
 public:
  virtual ~Stream() = default;

  // Sets the listener; frames that arrived before are delivered to it. Not
  // owned; until another is set, or Detach. Never calls the listener from
  // within.
  virtual void Attach(StreamListener* listener) = 0;
  // Removes the listener. The stream stays open and discards what arrives.
  virtual void Detach() = 0;

  // No frame is being written. False: OnWritable follows.
  virtual bool Writable() = 0;
  // One frame; only when Writable.
  virtual void Write(const Rope& frame) = 0;

  // The peer has proved who it is: its connection is not one of those that have
  // to end soon, and to make room for others. Listening side only.
  virtual void SetProved() {}

  // Detaches and ends the stream: at the dialling side by cancelling, at the
  // other with this status, after the frame under way.
  virtual void Close(const StreamEnd& end) = 0;
  // Detaches and ends this side's direction after the frame under way, so that
  // the peer still gets everything; dialling side only.
  virtual void CloseInOrder() = 0;
};

// Makes streams. Loop thread.
class Transport {
 public:
  virtual ~Transport() = default;
  // A stream to the address; failure comes as its end.
  virtual std::shared_ptr<Stream> Dial(const std::string& address) = 0;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_STREAM_H_
