#include "server/overlay/link_set.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/overlay/fake_stream.h"

namespace canopy::overlay {
namespace {

// One member: a view and its links, without routing.
class TestMember : public LinkSet::Listener {
 public:
  TestMember(EventLoop* loop, FakeNetwork* network, const OverlayConfig& config)
      : config_(config),
        view(config_),
        links(loop, network, &config_, &view, this) {
    network->listeners[config_.members[config_.self].address] =
        [this](std::shared_ptr<Stream> stream) {
          links.Accept(std::move(stream));
        };
  }

  void OnRecord(const MemberRecord& record, NodeId from) override {
    if (view.MergeRecord(record) != MembershipView::RecordChange::kNone) {
      links.SendRecord(record.node, from);
    }
  }
  void OnMember(const MemberState& state, NodeId from) override {
    if (view.Merge(state) != MembershipView::Change::kNone) {
      links.SendMember(state.node, from);
    }
  }
  void OnPeer(const MemberState& state) override {
    OnMember(state, state.node);
  }
  void OnPacket(Packet packet, NodeId from) override {
    packets.emplace_back(from, packet.message);
  }
  void OnUndelivered(std::vector<Packet> given) override {
    for (Packet& packet : given) undelivered.push_back(packet.message);
  }
  void OnLinksChanged() override { changed = true; }
  void OnLinked(NodeId node) override { linked.push_back(node); }
  void OnChildAwaited(NodeId node) override { awaited.push_back(node); }
  void OnActivity() override {}
  void OnLinkError(NodeId, const Status& error) override {
    errors.push_back(error.code());
  }
  void OnUnreachable(NodeId node, const std::string&) override {
    unreachable.push_back(node);
  }
  void OnExpelled(const std::string&) override { ++expelled; }
  void OnRemoved(const std::string& reason) override { removed = reason; }

 private:
  OverlayConfig config_;

 public:
  MembershipView view;
  LinkSet links;
  std::vector<std::pair<NodeId, uint64_t>> packets;
  std::vector<uint64_t> undelivered;
  std::vector<NodeId> linked;
  std::vector<int> errors;
  std::vector<NodeId> unreachable;
  std::vector<NodeId> awaited;
  int expelled = 0;
  std::string removed;
  bool changed = true;
};

class LinkSetTest : public testing::Test {
 protected:
  LinkSetTest() {
    config_.radix = 2;
    config_.overlay_id = "o";
    config_.redial_min_ms = 1;
    config_.redial_max_ms = 2;
    config_.grace_ms = 30;
    config_.detect_ms = 200;
    for (NodeId id = 0; id < 3; ++id) {
      config_.members.push_back(
          {"n" + std::to_string(id), "at" + std::to_string(id)});
    }
  }
  void Start(NodeId id) {
    config_.self = id;
    members_[id] = std::make_unique<TestMember>(&loop_, &network_, config_);
  }
  TestMember& At(NodeId id) { return *members_[id]; }
  bool WaitFor(const std::function<bool()>& done) {
    bool expired = false;
    const auto timer = loop_.AddTimer(20000000000, [&] { expired = true; });
    while (!expired && !done()) {
      loop_.RunOnce(1);
      for (auto& member : members_) {
        if (member != nullptr && std::exchange(member->changed, false)) {
          member->links.Update();
        }
      }
    }
    loop_.CancelTimer(timer);
    return done();
  }
  bool AllLinked() {
    return WaitFor([this] {
      return At(0).links.Linked(1) && At(0).links.Linked(2) &&
             At(1).links.Linked(0) && At(2).links.Linked(0);
    });
  }
  static Packet PacketOf(NodeId target, uint64_t message) {
    Packet packet;
    packet.target = target;
    packet.message = message;
    packet.piece = Bytes(std::string("x"));
    return packet;
  }

  EventLoop loop_;
  FakeNetwork network_{&loop_};
  OverlayConfig config_;
  std::unique_ptr<TestMember> members_[3];
};

TEST_F(LinkSetTest, AMemberThatWasRemovedIsRefused) {
  Start(0);
  MemberRecord record;
  record.node = 1;
  record.version = 1;
  record.service = Service::kRemoved;
  At(0).OnRecord(record, kNoNode);
  Start(1);
  ASSERT_TRUE(WaitFor([this] { return !At(1).removed.empty(); }));
  EXPECT_EQ(At(1).removed, "n1 was removed from the overlay");
  EXPECT_FALSE(At(0).links.Linked(1));
}

TEST_F(LinkSetTest, AnAgentWithTheNameOfAnotherMemberIsRefused) {
  Start(0);
  config_.members[1].name = "impostor";
  Start(1);
  ASSERT_TRUE(WaitFor([this] { return !At(1).errors.empty(); }));
  EXPECT_EQ(At(1).errors[0], kErrHandshakeFailed);
  EXPECT_FALSE(At(0).links.Linked(1));
}

TEST_F(LinkSetTest, ChildrenDialTheParent) {
  for (NodeId id = 0; id < 3; ++id) Start(id);
  ASSERT_TRUE(AllLinked());
  EXPECT_FALSE(At(1).links.Linked(2));
  At(1).links.Enqueue(0, PacketOf(0, 7));
  ASSERT_TRUE(WaitFor([this] { return !At(0).packets.empty(); }));
  EXPECT_EQ(At(0).packets[0], (std::pair<NodeId, uint64_t>{1, 7}));
  ASSERT_TRUE(WaitFor([this] { return At(1).view.complete(); }));
}

TEST_F(LinkSetTest, ABrokenLinkIsReestablished) {
  for (NodeId id = 0; id < 3; ++id) Start(id);
  ASSERT_TRUE(AllLinked());
  network_.CutAll();
  EXPECT_FALSE(At(1).links.AnyLinked());
  At(1).links.Enqueue(0, PacketOf(0, 7));
  ASSERT_TRUE(AllLinked());
  ASSERT_TRUE(WaitFor([this] { return !At(0).packets.empty(); }));
  EXPECT_TRUE(At(0).unreachable.empty());
}

TEST_F(LinkSetTest, ANeighbourThatDoesNotReconnectIsReportedAsUnreachable) {
  for (NodeId id = 0; id < 3; ++id) Start(id);
  ASSERT_TRUE(AllLinked());
  network_.listeners.erase("at0");
  network_.CutAll();
  EXPECT_FALSE(At(1).links.TimeToLoss(2));
  ASSERT_TRUE(WaitFor([this] {
    return At(1).links.TimeToLoss(0).has_value() || !At(1).unreachable.empty();
  }));
  EXPECT_GT(At(1).links.TimeToLoss(0).value_or(0), 0);
  ASSERT_TRUE(WaitFor([this] { return !At(1).unreachable.empty(); }));
  EXPECT_EQ(At(1).unreachable[0], 0u);
  EXPECT_FALSE(At(1).errors.empty());
}

TEST_F(LinkSetTest, ARemovedMemberIsNotifiedThatItIsLost) {
  for (NodeId id = 0; id < 3; ++id) Start(id);
  ASSERT_TRUE(AllLinked());
  At(0).links.Enqueue(1, PacketOf(1, 9));
  const MemberState down{
      1, At(1).view.identity().incarnation, false, "so", "", false};
  At(0).view.Merge(down);
  EXPECT_EQ(At(0).links.Remove(1).size(), 1u);
  EXPECT_FALSE(At(0).links.Linked(1));
  EXPECT_TRUE(WaitFor([this] { return At(1).expelled > 0; }));
}

TEST_F(LinkSetTest, PacketsForALostNeighbourAreReturned) {
  Start(1);
  At(1).links.Enqueue(0, PacketOf(0, 3));
  At(1).view.Merge({0, 1, false, "gone", "", false});
  At(1).links.Update();
  EXPECT_EQ(At(1).undelivered, std::vector<uint64_t>{3});
}

TEST_F(LinkSetTest, ARestartedMemberGetsOnlyPacketsThatItForwards) {
  for (NodeId id = 0; id < 3; ++id) Start(id);
  ASSERT_TRUE(AllLinked());
  network_.CutAll();
  At(0).links.Enqueue(1, PacketOf(1, 1));
  At(0).links.Enqueue(1, PacketOf(2, 2));
  At(0).links.BeginAnew(1);
  ASSERT_TRUE(AllLinked());
  ASSERT_TRUE(WaitFor([this] { return !At(1).packets.empty(); }));
  EXPECT_EQ(At(1).packets[0].second, 2u);
}

TEST_F(LinkSetTest, AQueueOverTheLimitIsReported) {
  config_.queue_limit_bytes = 100;
  Start(1);
  for (int i = 0; i < 3; ++i) At(1).links.Enqueue(0, PacketOf(0, 1));
  EXPECT_TRUE(At(1).unreachable.empty());
  loop_.RunOnce(0);
  EXPECT_FALSE(At(1).unreachable.empty());
}

TEST_F(LinkSetTest, NoCallbackIsCalledAfterStop) {
  for (NodeId id = 0; id < 3; ++id) Start(id);
  ASSERT_TRUE(AllLinked());
  At(1).links.Stop();
  At(1).changed = false;
  ASSERT_TRUE(WaitFor([this] { return !At(0).unreachable.empty(); }));
  EXPECT_FALSE(At(1).changed);
  EXPECT_FALSE(At(1).links.AnyLinked());
}

}  // namespace
}  // namespace canopy::overlay
