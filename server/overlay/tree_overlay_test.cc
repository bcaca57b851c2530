#include "server/overlay/tree_overlay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

namespace canopy::overlay {
namespace {

// A network of streams that a test can cut.
class FakeNetwork;

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
      if (self->closing_) self->CloseNow({});
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
  // Both ends lose the connection; what was under way is gone.
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
      loop_->Post([self = shared_from_this(), end] { self->Tell(end); });
    } else {
      inbox_.clear();
      Tell(end);
    }
  }
  void Tell(const StreamEnd& end) {
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

class FakeNetwork : public Transport {
 public:
  explicit FakeNetwork(EventLoop* loop) : loop_(loop) {}

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
        it->second->Accept(far);
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

  std::map<std::string, TreeOverlay*> listeners;

 private:
  EventLoop* const loop_;
  std::vector<std::shared_ptr<FakeStream>> streams_;
};

class RecordingSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    if (auto* peer = std::get_if<core::PeerArrived>(&input)) {
      messages.push_back(std::move(peer->message));
    } else if (auto* state = std::get_if<core::NodeStateChanged>(&input)) {
      states.push_back(*state);
    } else if (auto* restart = std::get_if<core::NodeRestarted>(&input)) {
      restarts.push_back(restart->node);
    }
  }
  std::vector<core::PeerMessage> messages;
  std::vector<core::NodeStateChanged> states;
  std::vector<NodeId> restarts;
};

class TreeOverlayTest : public testing::Test {
 protected:
  void Make(uint32_t size, uint32_t grace_ms = 10000) {
    config_.radix = 2;
    config_.overlay_id = "o";
    config_.redial_min_ms = 1;
    config_.redial_max_ms = 4;
    config_.grace_ms = grace_ms;
    config_.detect_ms = 200;
    for (NodeId id = 0; id < size; ++id) {
      config_.members.push_back({Name(id), Name(id)});
    }
    sinks_.resize(size);
    overlays_.resize(size);
    expelled_.resize(size);
    for (NodeId id = 0; id < size; ++id) Start(id);
  }
  void Start(NodeId id) {
    config_.self = id;
    OverlayEvents events;
    events.expelled = [this, id](const std::string&) { ++expelled_[id]; };
    sinks_[id] = std::make_unique<RecordingSink>();
    overlays_[id] = std::make_unique<TreeOverlay>(&loop_, sinks_[id].get(),
                                                  &network_, config_, events);
    network_.listeners[Name(id)] = overlays_[id].get();
    overlays_[id]->Join();
  }
  static std::string Name(NodeId id) { return "node" + std::to_string(id); }

  bool WaitFor(const std::function<bool()>& done) {
    bool expired = false;
    const auto timer = loop_.AddTimer(30000000000, [&] { expired = true; });
    while (!expired && !done()) loop_.RunOnce(-1);
    loop_.CancelTimer(timer);
    return done();
  }
  bool WaitForAll() {
    return WaitFor([this] {
      for (const auto& o : overlays_) {
        if (o->table().up_count() != o->table().size()) return false;
      }
      return true;
    });
  }
  bool Knows(NodeId id, NodeId about, bool up) {
    return std::any_of(
        sinks_[id]->states.begin(), sinks_[id]->states.end(),
        [&](const auto& s) { return s.node == about && s.up == up; });
  }

  EventLoop loop_;
  FakeNetwork network_{&loop_};
  OverlayConfig config_;
  std::vector<std::unique_ptr<RecordingSink>> sinks_;
  std::vector<int> expelled_;
  std::vector<std::unique_ptr<TreeOverlay>> overlays_;
};

core::PeerMessage Note(NodeId to, uint64_t number) {
  return {kNoNode, to, core::OutputCredit{"job", number}};
}

TEST_F(TreeOverlayTest, CutLinksReplayExactlyOnceInOrder) {
  Make(7);
  ASSERT_TRUE(WaitForAll());
  constexpr uint64_t kCount = 3000;
  std::mt19937 random(7);
  uint64_t sent = 0;
  const auto done = [&] {
    for (NodeId id = 0; id < 7; ++id) {
      if (sinks_[id]->messages.size() < kCount) return false;
    }
    return true;
  };
  while (sent < kCount) {
    for (NodeId from = 0; from < 7; ++from) {
      overlays_[from]->Send(Note((from + 3) % 7, sent));
    }
    ++sent;
    if (random() % 10 == 0) network_.CutOne(random());
    if (random() % 100 == 0) network_.CutAll();
    loop_.RunOnce(0);
  }
  ASSERT_TRUE(WaitFor(done));
  for (NodeId id = 0; id < 7; ++id) {
    const auto& got = sinks_[id]->messages;
    ASSERT_EQ(got.size(), kCount);
    for (uint64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(std::get<core::OutputCredit>(got[i].body).bytes, i);
      ASSERT_EQ(got[i].src, (id + 4) % 7);
    }
    EXPECT_TRUE(sinks_[id]->states.empty());
  }
}

TEST_F(TreeOverlayTest, LargeMessagesSurviveCuts) {
  Make(4);
  ASSERT_TRUE(WaitForAll());
  std::string data(5 << 20, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i >> 7);
  overlays_[3]->Send(
      {kNoNode, 2, core::DmodexReply{1, 0, {"j", 0}, Bytes(data)}});
  std::mt19937 random(5);
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 5; ++k) loop_.RunOnce(0);
    network_.CutOne(random());
  }
  ASSERT_TRUE(WaitFor([&] { return !sinks_[2]->messages.empty(); }));
  EXPECT_TRUE(
      std::get<core::DmodexReply>(sinks_[2]->messages[0].body).data.view() ==
      data);
  EXPECT_EQ(sinks_[2]->messages.size(), 1u);
}

TEST_F(TreeOverlayTest, MemberCutOffForGoodIsLostAndOthersGoOn) {
  Make(7, 50);
  ASSERT_TRUE(WaitForAll());
  network_.listeners.erase(Name(1));
  overlays_[1]->Stop();
  ASSERT_TRUE(WaitFor([&] {
    for (const NodeId id : {0u, 2u, 3u, 4u, 5u, 6u}) {
      if (!Knows(id, 1, false)) return false;
    }
    return true;
  }));
  EXPECT_EQ(overlays_[3]->tree().parent(3), 0u);
  overlays_[3]->Send(Note(6, 1));
  EXPECT_TRUE(WaitFor([&] { return !sinks_[6]->messages.empty(); }));
}

TEST_F(TreeOverlayTest, RestartedMemberIsNotLost) {
  for (const NodeId restarted : {0u, 1u, 6u}) {
    SCOPED_TRACE(restarted);
    config_.members.clear();
    Make(7);
    ASSERT_TRUE(WaitForAll());
    overlays_[restarted]->Stop();
    config_.recovered = true;
    Start(restarted);
    config_.recovered = false;
    ASSERT_TRUE(WaitForAll());
    ASSERT_TRUE(WaitFor([&] {
      for (NodeId id = 0; id < 7; ++id) {
        if (id != restarted && sinks_[id]->restarts.empty()) return false;
      }
      return true;
    }));
    for (NodeId id = 0; id < 7; ++id) {
      EXPECT_TRUE(sinks_[id]->states.empty()) << id;
      if (id == restarted) continue;
      EXPECT_EQ(sinks_[id]->restarts, std::vector<NodeId>{restarted}) << id;
    }
    overlays_[3]->Send(Note(5, 1));
    EXPECT_TRUE(WaitFor([&] { return !sinks_[5]->messages.empty(); }));
  }
}

TEST_F(TreeOverlayTest, AnnouncedAbsenceIsWaitedFor) {
  Make(4, /*grace_ms=*/1);
  ASSERT_TRUE(WaitForAll());
  bool said = false;
  overlays_[1]->AnnounceHandover(60000, [&] { said = true; });
  ASSERT_TRUE(WaitFor([&] { return said; }));
  network_.listeners.erase(Name(1));
  overlays_[1]->Stop();
  bool waited = false;
  loop_.AddTimer(50000000, [&] { waited = true; });
  ASSERT_TRUE(WaitFor([&] { return waited; }));
  config_.recovered = true;
  Start(1);
  ASSERT_TRUE(WaitFor([&] {
    return !sinks_[0]->restarts.empty() && !sinks_[3]->restarts.empty();
  }));
  EXPECT_TRUE(sinks_[0]->states.empty());
  EXPECT_TRUE(sinks_[3]->states.empty());
}

TEST_F(TreeOverlayTest, VersionsNextToEachOtherMix) {
  Make(7);
  ASSERT_TRUE(WaitForAll());
  for (const NodeId old : {0u, 2u, 5u}) {
    overlays_[old]->Stop();
    config_.version = 1;
    config_.recovered = false;
    Start(old);
  }
  ASSERT_TRUE(WaitForAll());
  for (NodeId id = 0; id < 7; ++id) sinks_[id]->messages.clear();
  for (NodeId id = 0; id < 7; ++id) overlays_[id]->Send(Note((id + 3) % 7, 1));
  EXPECT_TRUE(WaitFor([&] {
    return std::all_of(sinks_.begin(), sinks_.end(),
                       [](const auto& s) { return !s->messages.empty(); });
  }));
}

TEST_F(TreeOverlayTest, MembersThatLostEachOtherMeetAgain) {
  Make(4, 30);
  ASSERT_TRUE(WaitForAll());
  // The root can not be reached for a while, but lives on.
  network_.listeners.erase(Name(0));
  network_.CutAll();
  ASSERT_TRUE(WaitFor([&] {
    return Knows(1, 0, false) && Knows(2, 0, false) && Knows(3, 0, false);
  }));
  ASSERT_TRUE(WaitFor([&] { return overlays_[2]->table().up_count() == 3; }));
  network_.listeners[Name(0)] = overlays_[0].get();
  ASSERT_TRUE(WaitFor([&] {
    return Knows(1, 0, true) && Knows(2, 0, true) && Knows(3, 0, true);
  }));
  ASSERT_TRUE(WaitForAll());
  for (NodeId id = 0; id < 4; ++id) EXPECT_EQ(overlays_[id]->tree().root(), 0u);
  sinks_[0]->messages.clear();
  overlays_[3]->Send(Note(0, 9));
  overlays_[2]->Send(Note(3, 9));
  EXPECT_TRUE(WaitFor([&] {
    return sinks_[0]->messages.size() == 1 && sinks_[3]->messages.size() == 1;
  }));
}

TEST_F(TreeOverlayTest, GarbageOnALinkIsNoLoss) {
  Make(2);
  ASSERT_TRUE(WaitForAll());
  const auto stranger = network_.Dial(Name(0));
  class Deaf : public StreamListener {
   public:
    void OnFrame(Bytes) override {}
    void OnWritable() override {}
    void OnEnd(const StreamEnd& e) override { end = e; }
    StreamEnd end;
  } deaf;
  stranger->Attach(&deaf);
  stranger->Write({Bytes(std::string("\xff\xff garbage"))});
  ASSERT_TRUE(WaitFor([&] { return !deaf.end.ok(); }));
  EXPECT_EQ(deaf.end.code, kEndRefused);
  overlays_[1]->Send(Note(0, 1));
  EXPECT_TRUE(WaitFor([&] { return !sinks_[0]->messages.empty(); }));
}

TEST_F(TreeOverlayTest, CongestionIsToldOnceEachWay) {
  config_.high_water_bytes = 1000;
  std::vector<bool> told;
  Make(2);
  ASSERT_TRUE(WaitForAll());
  OverlayEvents events;
  events.congested = [&](bool on) { told.push_back(on); };
  config_.self = 1;
  overlays_[1] = std::make_unique<TreeOverlay>(&loop_, sinks_[1].get(),
                                               &network_, config_, events);
  overlays_[1]->Join();
  for (uint64_t i = 0; i < 100; ++i) overlays_[1]->Send(Note(0, i));
  EXPECT_EQ(told, std::vector<bool>{true});
  ASSERT_TRUE(WaitFor([&] { return told.size() == 2; }));
  EXPECT_FALSE(told[1]);
}

}  // namespace
}  // namespace canopy::overlay
