// Handshakes in progress: a stream between its first frame and its use as a
// link.
#ifndef CANOPY_SERVER_OVERLAY_LINK_HANDSHAKE_H_
#define CANOPY_SERVER_OVERLAY_LINK_HANDSHAKE_H_

#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "server/overlay/frame.h"
#include "server/overlay/handshake.h"
#include "server/overlay/stream.h"

namespace canopy::overlay {

// Everything here is used by the loop thread only. A handshake calls its `done`
// exactly once, which may destroy the handshake. If the handshake is destroyed
// earlier, `done` is not called and the stream is closed.

// The dialling side's handshake.
class ClientHandshake : public StreamListener {
 public:
  // If `end.ok()`, `stream` has no listener and the Proof is being written.
  // Otherwise `stream` is null.
  using Done = std::function<void(const StreamEnd& end, const Welcome& welcome,
                                  std::shared_ptr<Stream> stream)>;

  // `identity` must outlive the handshake. `expected` and `name` are the number
  // and the name of the node that was dialled.
  ClientHandshake(EventLoop* loop, const Identity* identity,
                  std::shared_ptr<Stream> stream, NodeId expected,
                  std::string name, const ResumePoint& resume,
                  int64_t timeout_ns, Done done);
  ~ClientHandshake() override;

  NodeId expected() const { return expected_; }

  void OnFrame(Bytes frame) override;
  void OnWritable() override { Answer(); }
  void OnEnd(const StreamEnd& end) override;

 private:
  void Answer();
  void Finish(const StreamEnd& end);

  EventLoop* const loop_;
  const Identity* const identity_;
  std::shared_ptr<Stream> stream_;
  const NodeId expected_;
  const std::string name_;
  const Hello hello_;
  bool welcomed_ = false;
  Welcome welcome_;
  Done done_;
  EventLoop::TimerId timer_ = 0;
};

// The listening side's handshake.
class ServerHandshake : public StreamListener {
 public:
  // Decides whether to admit the sender of a Hello that is well-formed but not
  // yet authenticated. Sets `*resume` to the last packet received from the
  // sender.
  using Admit =
      std::function<StreamEnd(const Hello& hello, ResumePoint* resume)>;
  // If `end.ok()`, `stream` has no listener. Otherwise the stream was closed
  // and `stream` is null.
  using Done = std::function<void(const StreamEnd& end, const Hello& hello,
                                  const Welcome& welcome,
                                  std::shared_ptr<Stream> stream)>;

  ServerHandshake(EventLoop* loop, const Identity* identity,
                  std::shared_ptr<Stream> stream, int64_t timeout_ns,
                  Admit admit, Done done);
  ~ServerHandshake() override;

  void OnFrame(Bytes frame) override;
  void OnWritable() override {}
  void OnEnd(const StreamEnd& end) override;

 private:
  void Finish(const StreamEnd& end);
  StreamEnd Greet(const Hello& hello);

  EventLoop* const loop_;
  const Identity* const identity_;
  std::shared_ptr<Stream> stream_;
  Admit admit_;
  Done done_;
  bool greeted_ = false;
  Hello hello_;
  Welcome welcome_;
  EventLoop::TimerId timer_ = 0;
};

// Sends one last frame on a stream and ends it in order.
class FarewellStream final : public StreamListener {
 public:
  FarewellStream(std::shared_ptr<Stream> stream, Frame frame);
  ~FarewellStream() override;

  bool over() const { return stream_ == nullptr; }

  void OnFrame(Bytes) override {}
  void OnWritable() override;
  void OnEnd(const StreamEnd&) override { stream_ = nullptr; }

 private:
  std::shared_ptr<Stream> stream_;
  const Frame frame_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_LINK_HANDSHAKE_H_
