// The handshakes under way: a stream between its first frame and the moment
// when it is a link.
#ifndef CANOPY_SERVER_OVERLAY_GREETER_H_
#define CANOPY_SERVER_OVERLAY_GREETER_H_

#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "server/overlay/frame.h"
#include "server/overlay/handshake.h"
#include "server/overlay/stream.h"

namespace canopy::overlay {

// All of it: loop thread. A greeter ends in exactly one call of its `done`,
// which may destroy it, unless it is destroyed first; then the stream is
// closed.

// The dialling side's handshake.
class Caller : public StreamListener {
 public:
  // `stream` (with nobody attached; the Proof is being written) when
  // `end.ok()`.
  using Done = std::function<void(const StreamEnd& end, const Welcome& welcome,
                                  std::shared_ptr<Stream> stream)>;

  // `identity` must outlive the greeter. `name`: of the expected node.
  Caller(EventLoop* loop, const Identity* identity,
         std::shared_ptr<Stream> stream, NodeId expected, std::string name,
         const ResumePoint& resume, int64_t timeout_ns, Done done);
  ~Caller() override;

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
class Receptionist : public StreamListener {
 public:
  // Is the sender of a Hello (that is well-formed, but proves nothing yet)
  // welcome, and where did the packets from it get to?
  using Admit =
      std::function<StreamEnd(const Hello& hello, ResumePoint* resume)>;
  // `stream` with nobody attached when `end.ok()`; otherwise it was closed and
  // is null.
  using Done = std::function<void(const StreamEnd& end, const Hello& hello,
                                  const Welcome& welcome,
                                  std::shared_ptr<Stream> stream)>;

  Receptionist(EventLoop* loop, const Identity* identity,
               std::shared_ptr<Stream> stream, int64_t timeout_ns, Admit admit,
               Done done);
  ~Receptionist() override;

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

// Says one last thing on a stream and ends it in order.
class Parting final : public StreamListener {
 public:
  Parting(std::shared_ptr<Stream> stream, Frame frame);
  ~Parting() override;

  bool over() const { return stream_ == nullptr; }

  void OnFrame(Bytes) override {}
  void OnWritable() override;
  void OnEnd(const StreamEnd&) override { stream_ = nullptr; }

 private:
  std::shared_ptr<Stream> stream_;
  const Frame frame_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_GREETER_H_
