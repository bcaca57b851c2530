#include "server/overlay/tree_overlay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "server/overlay/fake_stream.h"

namespace canopy::overlay {
namespace {

class RecordingSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    if (auto* added = std::get_if<core::MemberAdded>(&input)) {
      names.push_back(added->name);
    } else if (auto* peer = std::get_if<core::PeerArrived>(&input)) {
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
  std::vector<std::string> names;  // of added members
};

class TreeOverlayTest : public testing::Test {
 protected:
  void Make(uint32_t size, uint32_t grace_ms = 10000) {
    Configure(size, grace_ms);
    for (NodeId id = 0; id < size; ++id) Start(id);
  }
  void Configure(uint32_t size, uint32_t grace_ms) {
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
  }
  void Start(NodeId id) {
    config_.self = id;
    OverlayEvents events;
    events.expelled = [this, id](const std::string&) { ++expelled_[id]; };
    events.reachability = [this, id] { ++changes_[id]; };
    events.description = [this, id](NodeId node, const std::string& text) {
      descriptions_[id][node] = text;
    };
    sinks_[id] = std::make_unique<RecordingSink>();
    config_.listen = Name(id);
    overlays_[id] = std::make_unique<TreeOverlay>(
        &loop_, sinks_[id].get(), std::make_unique<FakeTransport>(&network_),
        config_, events);
    Listen(id);
    overlays_[id]->Describe(described_ ? "the node of " + Name(id) : "");
    overlays_[id]->Join(known_);
  }
  // Starts an agent that has recovered the processes of its predecessor.
  void Restart(NodeId id) {
    config_.recovered = true;
    Start(id);
    config_.recovered = false;
  }
  void Listen(NodeId id) { EXPECT_TRUE(overlays_[id]->Listen().ok()); }
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
        if (o == nullptr || o->table().up_count() != o->table().size())
          return false;
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
  Members known_;
  std::vector<std::unique_ptr<RecordingSink>> sinks_;
  std::vector<int> expelled_;
  std::map<NodeId, int> changes_;  // of reachability
  bool described_ = false;
  // By the member that learned them and the member that they describe.
  std::map<NodeId, std::map<NodeId, std::string>> descriptions_;
  std::vector<std::unique_ptr<TreeOverlay>> overlays_;
};

// Starts the agent of a new member, which the root configures.
class GrowingOverlayTest : public TreeOverlayTest {
 protected:
  Status Decide(NodeId id, Service service) {
    MemberRecord record;
    record.node = id;
    record.name = Name(id);
    record.service = service;
    return overlays_[0]->Decide(record);
  }
  void Add(NodeId id) {
    ASSERT_TRUE(Decide(id, Service::kInService).ok());
    known_ = overlays_[0]->Known();
    config_.members.push_back({Name(id), Name(id)});
    sinks_.emplace_back();
    overlays_.emplace_back();
    expelled_.push_back(0);
    Start(id);
    known_ = Members();
  }
  void Send(NodeId from, NodeId to) {
    overlays_[from]->Send({from, to, core::JobQuery{"job"}});
  }
  bool Arrives(NodeId from, NodeId to) {
    Send(from, to);
    return WaitFor([&] {
      return std::ranges::any_of(sinks_[to]->messages,
                                 [&](const auto& m) { return m.src == from; });
    });
  }
};

TEST_F(GrowingOverlayTest, AMemberJoinsARunningOverlayAndExchangesMessages) {
  Make(3);
  ASSERT_TRUE(WaitForAll());
  for (NodeId id = 3; id < 12; ++id) Add(id);
  ASSERT_TRUE(WaitForAll());
  for (NodeId id = 0; id < 12; ++id) EXPECT_EQ(overlays_[id]->root(), 0u);
  EXPECT_EQ(sinks_[2]->names.size(), 9u);
  EXPECT_EQ(sinks_[2]->names[0], "node3");
  EXPECT_TRUE(sinks_[11]->names.empty()) << "it knew them all";
  ASSERT_TRUE(WaitFor([this] { return Knows(2, 11, true); }));
  EXPECT_TRUE(Arrives(11, 2));
  EXPECT_TRUE(Arrives(1, 10));
}

TEST_F(GrowingOverlayTest, AMemberThatJoinsLearnsWhichMembersAreLost) {
  Make(4, 50);
  ASSERT_TRUE(WaitForAll());
  overlays_[1]->Stop();
  ASSERT_TRUE(WaitFor([this] { return overlays_[0]->table().Down(1); }));
  Add(4);  // with radix 2, its parent in the full tree is the lost node 1
  ASSERT_TRUE(WaitFor([this] { return overlays_[4]->table().Up(2); }));
  EXPECT_TRUE(Knows(4, 1, false));
  EXPECT_EQ(overlays_[4]->tree().parent(4), 0u);
  EXPECT_TRUE(Arrives(4, 3));
}

TEST_F(GrowingOverlayTest, ADecisionReachesAllMembersAndThoseThatJoinLater) {
  Make(4);
  ASSERT_TRUE(WaitForAll());
  ASSERT_TRUE(Decide(2, Service::kDrained).ok());
  Add(4);
  const auto drained = [this](NodeId at) {
    const MemberRecord* const record = overlays_[at]->table().Record(2);
    return record != nullptr && record->service == Service::kDrained;
  };
  ASSERT_TRUE(WaitFor([&] { return drained(3) && drained(4); }));
  ASSERT_TRUE(Decide(2, Service::kRemoved).ok());
  EXPECT_EQ(Decide(2, Service::kInService).code(), kErrExists);
  EXPECT_EQ(Decide(9, Service::kInService).code(), kErrBadParam);
  ASSERT_TRUE(WaitFor([&] { return overlays_[4]->table().Removed(2); }));
}

TEST_F(GrowingOverlayTest, ARestartedMemberDoesNotWaitForARemovedParent) {
  Make(4);
  ASSERT_TRUE(WaitForAll());
  ASSERT_TRUE(Decide(1, Service::kRemoved).ok());
  overlays_[1]->Stop();
  overlays_[3]->Stop();
  // As in a file that the predecessor has stored.
  known_ = overlays_[0]->Known();
  known_.changes.clear();
  Restart(3);
  ASSERT_TRUE(WaitFor([this] { return overlays_[3]->table().Up(0); }));
  EXPECT_TRUE(Knows(3, 1, false));
  EXPECT_EQ(overlays_[3]->tree().parent(3), 0u);
}

TEST_F(GrowingOverlayTest, ARootThatWasRemovedWhileItWasAwayIsNotified) {
  Make(3, 20);
  ASSERT_TRUE(WaitForAll());
  overlays_[0]->Stop();
  ASSERT_TRUE(WaitFor([this] { return overlays_[1]->root() == 1u; }));
  MemberRecord record;
  record.node = 0;
  record.name = Name(0);
  record.service = Service::kRemoved;
  ASSERT_TRUE(overlays_[1]->Decide(record).ok());
  known_ = NoneUp(3, 0);
  Start(0);
  ASSERT_TRUE(WaitFor([this] { return overlays_[0]->table().Removed(0); }));
  EXPECT_FALSE(overlays_[1]->table().Up(0));
}

// Agents that know who the members are, and find out which of them are up.
class UnlaunchedOverlayTest : public TreeOverlayTest {
 protected:
  static constexpr uint32_t kSize = 9;

  void StartAlone(NodeId id) {
    known_ = NoneUp(kSize, id);
    described_ = true;
    Start(id);
  }
  // Starts the members in this order and waits until all know all.
  void StartInOrder(const std::vector<NodeId>& order) {
    Configure(kSize, 20);
    for (const NodeId id : order) {
      StartAlone(id);
      const auto pause = EventLoop::Now() + 5000000;
      WaitFor([&] { return EventLoop::Now() > pause; });
    }
    ASSERT_TRUE(WaitForAll());
    for (NodeId id = 0; id < kSize; ++id) EXPECT_EQ(overlays_[id]->root(), 0u);
  }
  bool AllDescribed() {
    return WaitFor([this] {
      for (NodeId id = 0; id < kSize; ++id) {
        if (descriptions_[id].size() < kSize - 1) return false;
      }
      return true;
    });
  }
};

TEST_F(UnlaunchedOverlayTest, MembersFindEachOtherInAnyOrderOfStart) {
  std::vector<NodeId> order = {8, 3, 5, 0, 7, 1, 6, 2, 4};
  StartInOrder(order);
  EXPECT_TRUE(AllDescribed());
  EXPECT_EQ(descriptions_[8][4], "the node of node4");
  for (NodeId id = 0; id < kSize; ++id) EXPECT_EQ(expelled_[id], 0) << id;
}

TEST_F(UnlaunchedOverlayTest, TheFirstMemberBecomesRootAlthoughItStartsLast) {
  StartInOrder({1, 2, 3, 4, 5, 6, 7, 8, 0});
  EXPECT_TRUE(AllDescribed());
}

TEST_F(UnlaunchedOverlayTest, AMemberFindsOthersBehindManyThatAreDown) {
  Configure(kSize, 20);
  StartAlone(8);
  StartAlone(7);
  ASSERT_TRUE(WaitFor([this] {
    return overlays_[7]->table().Up(8) && overlays_[8]->table().Up(7);
  }));
  EXPECT_EQ(overlays_[8]->root(), 7u);
}

// With radix 2, node 1 is the parent of 3 and 4.
TEST_F(TreeOverlayTest, EveryMemberKnowsWhichMembersAreAway) {
  Make(7);
  ASSERT_TRUE(WaitForAll());
  const auto gap = [this](NodeId from, NodeId node) {
    return overlays_[from]->GapTowards(node);
  };
  ASSERT_TRUE(WaitFor([&] {
    for (NodeId id = 1; id < 7; ++id) {
      if (gap(0, id) != kNoNode) return false;
    }
    return true;
  }));
  overlays_[4]->Stop();
  ASSERT_TRUE(WaitFor([&] { return gap(0, 4) == 4; }));
  EXPECT_EQ(gap(0, 3), kNoNode);
  Restart(4);
  ASSERT_TRUE(WaitFor([&] { return gap(0, 4) == kNoNode; })) << "back";
  overlays_[1]->Stop();
  ASSERT_TRUE(WaitFor([&] { return gap(0, 1) == 1; }));
  EXPECT_EQ(gap(0, 3), 1u) << "it is reached through node 1";
  EXPECT_GT(changes_[0], 2);
  Restart(1);
  ASSERT_TRUE(
      WaitFor([&] { return gap(0, 1) == kNoNode && gap(0, 3) == kNoNode; }));
  network_.CutAll();
  ASSERT_TRUE(WaitFor([&] {
    for (NodeId id = 1; id < 7; ++id) {
      if (gap(0, id) != kNoNode) return false;
    }
    return true;
  })) << "linked again without a restart";
}

TEST_F(TreeOverlayTest, ARestartedRootAwaitsMembersThatItHasNotSeen) {
  Make(3);
  ASSERT_TRUE(WaitForAll());
  overlays_[2]->Stop();
  overlays_[0]->Stop();
  Restart(0);
  ASSERT_TRUE(WaitFor([&] { return overlays_[0]->GapTowards(1) == kNoNode; }));
  EXPECT_EQ(overlays_[0]->GapTowards(2), 2u);
  Restart(2);
  EXPECT_TRUE(WaitFor([&] { return overlays_[0]->GapTowards(2) == kNoNode; }));
}

TEST_F(TreeOverlayTest, AMemberWithAnAnnouncedDowntimeIsNotAbsent) {
  Make(3);
  ASSERT_TRUE(WaitForAll());
  bool announced = false;
  overlays_[2]->AnnounceHandover(5000, [&] { announced = true; });
  ASSERT_TRUE(WaitFor([&] { return announced; }));
  for (int i = 0; i < 10; ++i) loop_.RunOnce(10);
  const int before = changes_[0];
  overlays_[2]->Stop();
  for (int i = 0; i < 10; ++i) loop_.RunOnce(10);
  EXPECT_EQ(overlays_[0]->GapTowards(2), kNoNode);
  EXPECT_EQ(changes_[0], before);
  Restart(2);
  EXPECT_TRUE(WaitFor([&] { return !sinks_[0]->restarts.empty(); }));
}

core::PeerMessage Note(NodeId to, uint64_t number) {
  return {kNoNode, to, core::OutputCredit{"job", number}};
}

TEST_F(TreeOverlayTest, MessagesArriveOnceAndInOrderDespiteBrokenLinks) {
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

TEST_F(TreeOverlayTest, ALargeMessageArrivesOnceDespiteBrokenLinks) {
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

TEST_F(TreeOverlayTest, AMemberThatIsCutOffIsLostAndTheOthersRelink) {
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

// A link carries only the last state of a member.
TEST_F(TreeOverlayTest, AnUnseenReturnIsReportedBeforeTheLossThatFollows) {
  known_.changes = {{2, 5, false, "gone", ""}, {2, 7, false, "gone again", ""}};
  Make(3);
  const auto& states = sinks_[0]->states;
  ASSERT_EQ(states.size(), 3u);
  EXPECT_FALSE(states[0].up);
  EXPECT_EQ(states[0].life, 5u);
  EXPECT_TRUE(states[1].up);
  EXPECT_FALSE(states[2].up);
  EXPECT_EQ(states[2].life, 7u);
}

TEST_F(TreeOverlayTest, ARestartedMemberThatRecoveredIsNotLost) {
  for (const NodeId restarted : {0u, 1u, 6u}) {
    SCOPED_TRACE(restarted);
    config_.members.clear();
    Make(7);
    ASSERT_TRUE(WaitForAll());
    overlays_[restarted]->Stop();
    Restart(restarted);
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

TEST_F(TreeOverlayTest, NeighboursWaitForAnAnnouncedSuccessor) {
  Make(4, /*grace_ms=*/1);
  ASSERT_TRUE(WaitForAll());
  bool announced = false;
  overlays_[1]->AnnounceHandover(60000, [&] { announced = true; });
  ASSERT_TRUE(WaitFor([&] { return announced; }));
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

TEST_F(TreeOverlayTest, MembersThatDeclaredEachOtherLostReconnect) {
  Make(4, 30);
  ASSERT_TRUE(WaitForAll());
  // The root is unreachable for a while, but stays alive.
  network_.listeners.erase(Name(0));
  network_.CutAll();
  ASSERT_TRUE(WaitFor([&] {
    return Knows(1, 0, false) && Knows(2, 0, false) && Knows(3, 0, false);
  }));
  ASSERT_TRUE(WaitFor([&] { return overlays_[2]->table().up_count() == 3; }));
  Listen(0);
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

TEST_F(TreeOverlayTest, AMalformedStreamOfAnUnknownPeerIsRefused) {
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

}  // namespace
}  // namespace canopy::overlay
