#include "server/overlay/bridge_stream.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <string>
#include <thread>

namespace canopy::overlay {
namespace {

// A call with a thread of its own that answers whatever it is asked, and
// echoes frames.
class EchoCall : public Call {
 public:
  explicit EchoCall(EventLoop* loop)
      : stream_(std::make_shared<BridgeStream>(loop, this)),
        thread_([this] { Run(); }) {}
  ~EchoCall() override { thread_.join(); }

  const std::shared_ptr<BridgeStream>& stream() const { return stream_; }

  void Read() override {
    Submit([this] {
      reading_ = true;
      Echo();
    });
  }
  void Write(const Rope& frame) override {
    std::string text;
    for (const Bytes& b : frame) text += b.view();
    Submit([this, text] {
      echoes_.push_back(text);
      stream_->WriteDone(true);
      Echo();
    });
  }
  void Finish(const StreamEnd& end) override {
    Submit([this, end] {
      finished_with = end;
      stream_->Done(end);
      stop_ = true;
    });
  }
  void Cancel() override {
    Submit([this] { EndReads(); });
  }
  void HalfClose() override {
    Submit([this] { EndReads(); });
  }

  StreamEnd finished_with;

 private:
  void Submit(std::function<void()> work) {
    std::lock_guard<std::mutex> lock(mutex_);
    work_.push_back(std::move(work));
    wake_.notify_one();
  }
  void Echo() {
    if (!reading_) return;
    if (ended_) {
      reading_ = false;
      return stream_->ReadDone(std::nullopt);
    }
    if (echoes_.empty()) return;
    reading_ = false;
    Bytes frame(echoes_.front());
    echoes_.pop_front();
    stream_->ReadDone(std::move(frame));
  }
  void EndReads() {
    ended_ = true;
    Echo();
  }
  void Run() {
    while (!stop_) {
      std::function<void()> work;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [this] { return !work_.empty(); });
        work = std::move(work_.front());
        work_.pop_front();
      }
      work();
    }
  }

  std::shared_ptr<BridgeStream> stream_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> work_;
  // The call's thread.
  std::deque<std::string> echoes_;
  bool reading_ = true;
  bool ended_ = false;
  bool stop_ = false;
  std::thread thread_;
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

TEST(BridgeStreamTest, FramesComeBackInOrder) {
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

TEST(BridgeStreamTest, BreakIsTheListenersLastCall) {
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

TEST(BridgeStreamTest, CloseHandsTheStatusOverAfterTheWrite) {
  EventLoop loop;
  EchoCall call(&loop);
  call.stream()->Write({Bytes(std::string("last words"))});
  call.stream()->Close({kEndWrongKey, "no"});
  // The destructor joins the call's thread, which ends with Finish.
}

TEST(BridgeStreamTest, NothingIsToldAfterDetach) {
  EventLoop loop;
  Recorder recorder;
  {
    EchoCall call(&loop);
    call.stream()->Attach(&recorder);
    call.stream()->Write({Bytes(std::string("x"))});
    call.stream()->CloseInOrder();
  }
  // The call is over, and all that it had to tell has been posted.
  loop.RunOnce(0);
  EXPECT_TRUE(recorder.frames.empty());
  EXPECT_FALSE(recorder.ended.has_value());
}

}  // namespace
}  // namespace canopy::overlay
