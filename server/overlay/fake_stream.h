// Test only: streams within one process, on one event loop.
#ifndef CANOPY_SERVER_OVERLAY_FAKE_STREAM_H_
#define CANOPY_SERVER_OVERLAY_FAKE_STREAM_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "server/overlay/stream.h"

namespace canopy::overlay {

// One end of a stream.
class FakeStream : public Stream,
                   public std::enable_shared_from_this<FakeStream> {
 public:
  explicit FakeStream(EventLoop* loop) : loop_(loop) {}

  void Attach(StreamListener* listener) override {
    listener_ = listener;
    Pump();
  }
  void Detach() override { listener_ = nullptr; }
  bool Writable() override {
    if (!busy_ && !over_) return true;
    want_ = true;
    return false;
  }
  void Write(const Rope& frame) override {
    busy_ = true;
    std::string text;
    for (const Bytes& b : frame) text += b.view();
    loop_->Post([self = shared_from_this(), text = std::move(text)] {
      self->busy_ = false;
      if (self->over_) return;
      if (const auto peer = self->peer_.lock()) {
        peer->inbox_.emplace_back(text);
        peer->Pump();
      }
      if (std::exchange(self->want_, false) && self->listener_ != nullptr) {
        self->listener_->OnWritable();
      }
      if (self->closing_ && !self->busy_) self->CloseNow({});
    });
  }
  void Close(const StreamEnd& end) override {
    Detach();
    CloseNow(end.code == kEndCancelled ? StreamEnd{kEndUnavailable, "cancelled"}
                                       : end);
  }
  void CloseInOrder() override {
    Detach();
    closing_ = true;
    if (!busy_) CloseNow({});
  }

  static void Connect(const std::shared_ptr<FakeStream>& a,
                      const std::shared_ptr<FakeStream>& b) {
    a->peer_ = b;
    b->peer_ = a;
  }
  // Breaks the connection at both ends. Frames in flight are lost.
  void Cut() {
    const auto peer = peer_.lock();
    End({kEndUnavailable, "cut"});
    if (peer != nullptr) peer->End({kEndUnavailable, "cut"});
  }
  bool over() const { return over_; }

 private:
  void CloseNow(const StreamEnd& end) {
    if (std::exchange(over_, true)) return;
    if (const auto peer = peer_.lock()) {
      loop_->Post([peer, end] { peer->End(end); });
    }
  }
  void End(const StreamEnd& end) {
    over_ = true;
    if (end.ok()) {
      loop_->Post([self = shared_from_this(), end] { self->Report(end); });
    } else {
      inbox_.clear();
      Report(end);
    }
  }
  void Report(const StreamEnd& end) {
    if (listener_ == nullptr) return;
    std::exchange(listener_, nullptr)->OnEnd(end);
  }
  void Pump() {
    loop_->Post([self = shared_from_this()] {
      while (self->listener_ != nullptr && !self->inbox_.empty()) {
        Bytes frame = std::move(self->inbox_.front());
        self->inbox_.erase(self->inbox_.begin());
        self->listener_->OnFrame(std::move(frame));
      }
    });
  }

  EventLoop* const loop_;
  std::weak_ptr<FakeStream> peer_;
  StreamListener* listener_ = nullptr;
  std::vector<Bytes> inbox_;
  bool busy_ = false;
  bool want_ = false;
  bool over_ = false;
  bool closing_ = false;
};

// Test only: a network of streams that a test can cut.
class FakeNetwork : public Transport {
 public:
  explicit FakeNetwork(EventLoop* loop) : loop_(loop) {}

  Status Listen(const std::string& address, Accept accept) override {
    listeners[address] = std::move(accept);
    return Status();
  }
  int port() const override { return 0; }
  const std::string& driver() const override { return driver_; }
  void Stop() override {}
  std::shared_ptr<Stream> Dial(const std::string& address) override {
    auto near = std::make_shared<FakeStream>(loop_);
    const auto far = std::make_shared<FakeStream>(loop_);
    streams_.push_back(near);
    streams_.push_back(far);
    FakeStream::Connect(near, far);
    loop_->Post([this, address, near, far] {
      const auto it = listeners.find(address);
      if (it == listeners.end()) {
        near->Cut();
      } else {
        it->second(far);
      }
    });
    return near;
  }
  void CutAll() {
    std::vector<std::shared_ptr<FakeStream>> all;
    all.swap(streams_);
    for (const auto& s : all) s->Cut();
  }
  void CutOne(uint32_t pick) {
    std::erase_if(streams_, [](const auto& s) { return s->over(); });
    if (!streams_.empty()) streams_[pick % streams_.size()]->Cut();
  }

  std::map<std::string, Accept> listeners;

 private:
  EventLoop* const loop_;
  const std::string driver_ = "by a fake";
  std::vector<std::shared_ptr<FakeStream>> streams_;
};

// Test only: the access of one member to the network, which must outlive it.
class FakeTransport : public Transport {
 public:
  explicit FakeTransport(FakeNetwork* network) : network_(network) {}

  Status Listen(const std::string& address, Accept accept) override {
    return network_->Listen(address, std::move(accept));
  }
  int port() const override { return network_->port(); }
  const std::string& driver() const override { return network_->driver(); }
  void Stop() override {}
  std::shared_ptr<Stream> Dial(const std::string& address) override {
    return network_->Dial(address);
  }

 private:
  FakeNetwork* const network_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_FAKE_STREAM_H_
