// Implements Stream on top of one gRPC call. Independent of gRPC, so that its
// states can be tested alone.
#ifndef CANOPY_SERVER_OVERLAY_BRIDGE_STREAM_H_
#define CANOPY_SERVER_OVERLAY_BRIDGE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "server/overlay/stream.h"

namespace canopy::overlay {

// The call under a stream. Loop thread only; at most one Read and one Write at
// a time. Completions are reported later, never from within a method.
class Call {
 public:
  virtual ~Call() = default;
  virtual void Read() = 0;                    // completes by ReadDone
  virtual void Write(const Rope& frame) = 0;  // completes by WriteDone
  // Ends the call: with an error at any time, or in order after the end of its
  // input. No Read or Write may follow. Completes by Done.
  virtual void Finish(const StreamEnd& end) = 0;
  // Makes pending operations fail soon.
  virtual void Cancel() = 0;
  // Dialling side only: ends this direction.
  virtual void HalfClose() = 0;
  // Listening side only: see Stream::SetProved.
  virtual void SetProved() {}
};

// Delivers at most kFramesPerRound frames in one round of the loop. Loop thread
// only.
class BridgeStream : public Stream,
                     public std::enable_shared_from_this<BridgeStream> {
 public:
  static constexpr size_t kFramesPerRound = 4;

  // `call` must have a Read in progress and must live until it has called Done.
  BridgeStream(EventLoop* loop, Call* call) : loop_(loop), call_(call) {}

  void Attach(StreamListener* listener) override;
  void Detach() override;
  bool Writable() override;
  void Write(const Rope& frame) override;
  void SetProved() override;
  void Close(const StreamEnd& end) override;
  void CloseInOrder() override;

  // The call's completions. `frame` has no value if the peer has ended its
  // direction or the call has failed.
  void ReadDone(std::optional<Bytes> frame);
  void WriteDone(bool ok);
  // The connection broke or the call was cancelled.
  void Broken();
  // The last completion; `call` may be destroyed afterwards.
  void Done(StreamEnd end);

 private:
  bool MayWrite() const {
    return !closing_ && !write_in_flight_ && !write_failed_;
  }
  void Schedule();
  void Deliver();
  void DeliverFrames();
  bool MustPause() const;
  void FinishWhenIdle();

  EventLoop* const loop_;
  Call* call_;  // null after Done
  StreamListener* listener_ = nullptr;
  bool detached_ = false;

  std::deque<Bytes> inbox_;
  size_t inbox_bytes_ = 0;
  uint64_t delivered_round_ = UINT64_MAX;  // the last round of DeliverFrames
  bool scheduled_ = false;
  bool read_paused_ = false;
  bool write_in_flight_ = false;
  bool write_failed_ = false;
  bool want_writable_ = false;
  bool half_close_ = false;
  bool closing_ = false;   // no new operation starts
  bool finished_ = false;  // Finish was called
  StreamEnd close_with_;
  std::optional<StreamEnd> ended_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_BRIDGE_STREAM_H_
