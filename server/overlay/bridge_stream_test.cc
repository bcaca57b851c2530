#include "server/overlay/bridge_stream.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace canopy::overlay {
namespace {

// A call that echoes frames and completes each operation when the loop runs.
class EchoCall : public Call {
 public:
  explicit EchoCall(EventLoop* loop)
      : loop_(loop), stream_(std::make_shared<BridgeStream>(loop, this)) {}
  ~EchoCall() override {
    while (!finished_with.has_value()) loop_->RunOnce(0);
  }

  const std::shared_ptr<BridgeStream>& stream() const { return stream_; }

  void Read() override {
    loop_->Post([this] {
      EXPECT_FALSE(reading_);
      reading_ = true;
      Echo();
    });
  }
  void Write(const Rope& frame) override {
    std::string text;
    for (const Bytes& b : frame) text += b.view();
    loop_->Post([this, text] {
      if (ended_) return stream_->WriteDone(false);
      ++written;
      Arrive(text);
      stream_->WriteDone(true);
    });
  }
  void Finish(const StreamEnd& end) override {
    EXPECT_FALSE(finishing_);
    EXPECT_TRUE(!end.ok() || echoes_.empty()) << "not all was read";
    finishing_ = true;
    loop_->Post([this, end] {
      finished_with = end;
      stream_->Done(end);
    });
  }
  void Cancel() override { EndReads(); }
  void HalfClose() override { EndReads(); }

  // Returns the number of frames that the stream has not read yet.
  size_t unread() const { return echoes_.size(); }

  void Arrive(std::string text) {
    echoes_.push_back(std::move(text));
    Echo();
  }

  int written = 0;
  std::optional<StreamEnd> finished_with;

 private:
  void Echo() {
    if (!reading_ || (echoes_.empty() && !ended_)) return;
    reading_ = false;
    if (echoes_.empty()) return stream_->ReadDone(std::nullopt);
    Bytes frame(echoes_.front());
    echoes_.pop_front();
    stream_->ReadDone(std::move(frame));
  }
  void EndReads() {
    loop_->Post([this] {
      ended_ = true;
      Echo();
    });
  }

  EventLoop* const loop_;
  const std::shared_ptr<BridgeStream> stream_;
  std::deque<std::string> echoes_;
  bool reading_ = true;
  bool ended_ = false;
  bool finishing_ = false;
};

class Recorder : public StreamListener {
 public:
  void OnFrame(Bytes frame) override {
    frames.emplace_back(frame.view());
    if (on_frame) on_frame();
  }
  void OnWritable() override {
    if (on_writable) on_writable();
  }
  void OnEnd(const StreamEnd& end) override { ended = end; }

  std::vector<std::string> frames;
  std::optional<StreamEnd> ended;
  std::function<void()> on_frame;
  std::function<void()> on_writable;
};

void WaitFor(EventLoop* loop, const std::function<bool()>& done) {
  while (!done()) loop->RunOnce(1000);
}

TEST(BridgeStreamTest, FramesArriveInOrder) {
  EventLoop loop;
  EchoCall call(&loop);
  Recorder recorder;
  call.stream()->Attach(&recorder);
  int sent = 0;
  const std::function<void()> send = [&] {
    while (sent < 2000 && call.stream()->Writable()) {
      call.stream()->Write({Bytes(std::to_string(sent++))});
    }
  };
  recorder.on_writable = send;
  send();
  WaitFor(&loop, [&] { return recorder.frames.size() == 2000; });
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(recorder.frames[i], std::to_string(i));
  }
  call.stream()->Close({kEndRefused, "enough"});
  EXPECT_FALSE(recorder.ended.has_value());
}

TEST(BridgeStreamTest, FramesBeforeAttachAreKept) {
  EventLoop loop;
  EchoCall call(&loop);
  call.stream()->Write({Bytes(std::string("early"))});
  while (!call.stream()->Writable()) loop.RunOnce(1);
  Recorder recorder;
  call.stream()->Attach(&recorder);
  WaitFor(&loop, [&] { return !recorder.frames.empty(); });
  EXPECT_EQ(recorder.frames[0], "early");
  call.stream()->Close({kEndCancelled, ""});
}

TEST(BridgeStreamTest, ABrokenStreamReportsTheEndToItsListener) {
  EventLoop loop;
  EchoCall call(&loop);
  Recorder recorder;
  call.stream()->Attach(&recorder);
  call.stream()->Write({Bytes(std::string("x"))});
  WaitFor(&loop, [&] { return !recorder.frames.empty(); });
  call.stream()->Broken();
  call.Cancel();
  WaitFor(&loop, [&] { return recorder.ended.has_value(); });
  EXPECT_FALSE(call.stream()->Writable());
}

TEST(BridgeStreamTest, AFailedWriteDoesNotDropReceivedFrames) {
  EventLoop loop;
  EchoCall call(&loop);
  Recorder recorder;
  call.stream()->Attach(&recorder);
  for (const char* text : {"a", "b", "c", "d"}) call.Arrive(text);
  call.Cancel();
  call.stream()->Write({Bytes(std::string("in vain"))});
  WaitFor(&loop, [&] { return recorder.ended.has_value(); });
  EXPECT_EQ(recorder.frames, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_FALSE(call.stream()->Writable());
}

TEST(BridgeStreamTest, CloseEndsTheCallAfterThePendingWrite) {
  EventLoop loop;
  EchoCall call(&loop);
  call.stream()->Write({Bytes(std::string("last words"))});
  call.stream()->Close({kEndWrongKey, "no"});
  EXPECT_EQ(call.written, 0);
  WaitFor(&loop, [&] { return call.finished_with.has_value(); });
  EXPECT_EQ(call.written, 1);
  EXPECT_EQ(call.finished_with->code, kEndWrongKey);
}

TEST(BridgeStreamTest, ADetachedListenerIsNotCalled) {
  EventLoop loop;
  Recorder recorder;
  {
    EchoCall call(&loop);
    call.stream()->Attach(&recorder);
    call.stream()->Write({Bytes(std::string("x"))});
    call.stream()->CloseInOrder();
  }
  // The call completes its operations in this round.
  loop.RunOnce(0);
  EXPECT_TRUE(recorder.frames.empty());
  EXPECT_FALSE(recorder.ended.has_value());
}

TEST(BridgeStreamTest, ReadingPausesUntilAListenerIsAttached) {
  EventLoop loop;
  EchoCall call(&loop);
  const std::string megabyte(size_t{1} << 20, 'm');
  for (int i = 0; i < 8; ++i) call.Arrive(megabyte);
  for (int i = 0; i < 20; ++i) loop.RunOnce(0);
  EXPECT_EQ(call.unread(), 3u);
  Recorder recorder;
  call.stream()->Attach(&recorder);
  WaitFor(&loop, [&] { return recorder.frames.size() == 8; });
  call.stream()->Close({kEndCancelled, ""});
}

TEST(BridgeStreamTest, ManyFramesAreDividedIntoRounds) {
  EventLoop loop;
  EchoCall call(&loop);
  constexpr size_t kFrames = 10 * BridgeStream::kFramesPerRound;
  for (size_t i = 0; i < kFrames; ++i) call.Arrive(std::to_string(i));
  for (int i = 0; i < 100; ++i) loop.RunOnce(0);
  // A frame that is sent now waits for few frames.
  EXPECT_EQ(call.unread(), kFrames - 2 * BridgeStream::kFramesPerRound);
  Recorder recorder;
  call.stream()->Attach(&recorder);
  call.Cancel();
  size_t before = 0;
  while (!recorder.ended.has_value()) {
    loop.RunOnce(1000);
    EXPECT_LE(recorder.frames.size() - before, BridgeStream::kFramesPerRound);
    before = recorder.frames.size();
    if (before == kFrames && !recorder.ended.has_value()) {
      call.stream()->Broken();
    }
  }
  EXPECT_EQ(recorder.frames.size(), kFrames);
}

TEST(BridgeStreamTest, AStreamClosedInOrderReadsToTheEnd) {
  EventLoop loop;
  EchoCall call(&loop);
  const std::string megabyte(size_t{1} << 20, 'm');
  for (int i = 0; i < 8; ++i) call.Arrive(megabyte);
  for (int i = 0; i < 20; ++i) loop.RunOnce(0);
  call.stream()->CloseInOrder();
  // The stream still reads everything that the peer sends.
  WaitFor(&loop, [&] { return call.finished_with.has_value(); });
  EXPECT_TRUE(call.finished_with->ok());
}

}  // namespace
}  // namespace canopy::overlay
