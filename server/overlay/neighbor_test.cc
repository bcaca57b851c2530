#include "server/overlay/neighbor.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/overlay/compatibility.h"
#include "server/overlay/fake_stream.h"

namespace canopy::overlay {
namespace {

class Recorder : public Neighbor::Listener {
 public:
  void OnRecord(const MemberRecord& record, NodeId) override {
    EXPECT_TRUE(members.empty() || members_may_come_first);
    records.push_back(record.node);
  }
  void OnMember(const MemberState& state, NodeId) override {
    members.push_back(state.node);
    if (disconnect) std::exchange(disconnect, nullptr)->Disconnect();
  }
  void OnPacket(Packet packet, NodeId) override {
    packets.push_back(packet.message);
  }
  void OnActivity(const Neighbor::Ref&) override { ++activities; }
  void OnLinkEnd(const Neighbor::Ref&, const StreamEnd& end) override {
    ends.push_back(end);
  }
  bool members_may_come_first = false;
  std::vector<NodeId> records;
  std::vector<NodeId> members;
  std::vector<uint64_t> packets;
  std::vector<StreamEnd> ends;
  int activities = 0;
  Neighbor* disconnect = nullptr;
};

// Nodes 0 and 1 as each other's neighbour.
class NeighborTest : public testing::Test {
 protected:
  NeighborTest() {
    for (NodeId id = 0; id < 3; ++id) {
      members_.Merge({id, id + 10, true, "", "", false});
    }
  }
  Neighbor::Ref Make(NodeId id, Recorder* recorder) {
    return std::make_shared<Neighbor>(&loop_, &members_, kNewestVersion, id,
                                      recorder);
  }
  void Link(bool resumed = false) {
    a_stream_ = std::make_shared<FakeStream>(&loop_);
    b_stream_ = std::make_shared<FakeStream>(&loop_);
    FakeStream::Connect(a_stream_, b_stream_);
    const uint64_t at_a = a_->resume_point().received;
    a_->Connect(11, resumed, b_->resume_point().received, a_stream_);
    b_->Connect(10, resumed, at_a, b_stream_);
  }
  void Run() {
    for (int i = 0; i < 20; ++i) loop_.RunOnce(0);
  }
  static Packet PacketOf(uint64_t message) {
    Packet packet;
    packet.source = 0;
    packet.target = 1;
    packet.message = message;
    packet.piece = Bytes(std::string("x"));
    return packet;
  }

  EventLoop loop_;
  MemberTable members_{3};
  Recorder at_a_, at_b_;
  Neighbor::Ref a_ = Make(1, &at_a_);
  Neighbor::Ref b_ = Make(0, &at_b_);
  std::shared_ptr<FakeStream> a_stream_, b_stream_;
};

TEST_F(NeighborTest, MembersAreSentBeforePackets) {
  a_->Enqueue(PacketOf(1));
  Link();
  a_->Enqueue(PacketOf(2));
  Run();
  EXPECT_EQ(at_b_.members, (std::vector<NodeId>{0, 2}));
  EXPECT_EQ(at_b_.packets, (std::vector<uint64_t>{1, 2}));
  EXPECT_GT(at_b_.activities, 0);
}

TEST_F(NeighborTest, AllRecordsAreSentBeforeStatesAndPackets) {
  MemberRecord record;
  record.version = 1;
  record.description.assign(kMaxDescription, 'd');
  std::vector<NodeId> all;
  for (NodeId id = 3; id < 20; ++id) {
    record.node = id;
    ASSERT_TRUE(members_.MergeRecord(record));
    all.push_back(id);
  }
  a_->Enqueue(PacketOf(1));
  Link();
  while (at_b_.packets.empty()) loop_.RunOnce(-1);
  EXPECT_EQ(at_b_.records, all);
  EXPECT_EQ(at_b_.members, (std::vector<NodeId>{0, 2}));
  at_b_.members_may_come_first = true;
  record.node = 2;
  ASSERT_TRUE(members_.MergeRecord(record));
  a_->SendRecord(2);
  Run();
  EXPECT_EQ(at_b_.records.back(), 2u);
}

TEST_F(NeighborTest, PacketsOfABrokenStreamAreResentOnce) {
  Link();
  Run();
  a_->Enqueue(PacketOf(1));
  loop_.RunOnce(0);
  a_stream_->Cut();
  a_->Enqueue(PacketOf(2));
  EXPECT_EQ(at_a_.ends.size(), 1u);
  EXPECT_FALSE(a_->linked());
  Link(true);
  Run();
  EXPECT_EQ(at_b_.packets, (std::vector<uint64_t>{1, 2}));
}

TEST_F(NeighborTest, AMalformedFrameEndsTheLink) {
  Link();
  Run();
  b_stream_->Write({Bytes(std::string("\xff\xff"))});
  Run();
  ASSERT_EQ(at_a_.ends.size(), 1u);
  EXPECT_EQ(a_->last_error(), "it sent a malformed frame");
}

TEST_F(NeighborTest, AMissingPacketEndsTheLink) {
  Link();
  Run();
  Frame frame;
  Packet packet = PacketOf(1);
  packet.number = 2;
  frame.packets.push_back(packet);
  b_stream_->Write(EncodeFrame(frame));
  Run();
  EXPECT_EQ(a_->last_error(), "it skipped a packet");
  EXPECT_TRUE(at_a_.packets.empty());
}

TEST_F(NeighborTest, ADisconnectDropsTheRestOfTheFrame) {
  Link();
  Run();
  at_b_.members.clear();
  at_b_.disconnect = b_.get();
  a_->SendMember(0);
  a_->SendMember(2);
  a_->Enqueue(PacketOf(1));
  Run();
  EXPECT_EQ(at_b_.members.size(), 1u);
  EXPECT_TRUE(at_b_.packets.empty());
}

TEST_F(NeighborTest, TheAnnouncedDowntimeIsLimited) {
  Link();
  Run();
  Frame frame;
  frame.planned_downtime_ms = 0xffffffff;
  b_->SendLast(frame);
  Run();
  EXPECT_EQ(a_->planned_downtime_ms(), 600000u);
}

TEST_F(NeighborTest, ALinkRetiresWhenAllPacketsAreAcknowledged) {
  Link();
  a_->Enqueue(PacketOf(1));
  EXPECT_FALSE(a_->Retire());
  bool retired = false;
  for (int i = 0; i < 1000 && !retired; ++i) {
    loop_.RunOnce(10);
    retired = a_->Retire();
  }
  EXPECT_TRUE(retired);
  Run();
  EXPECT_EQ(at_b_.packets, std::vector<uint64_t>{1});
  ASSERT_EQ(at_b_.ends.size(), 1u);
  EXPECT_TRUE(at_b_.ends[0].ok());
}

TEST_F(NeighborTest, TheReconnectTimerExpiresOnceAndIsCancelledByALink) {
  int expired = 0;
  EXPECT_FALSE(a_->TimeToReconnect());
  a_->StartReconnectTimer(1000000, [&] { ++expired; });
  EXPECT_LE(a_->TimeToReconnect().value_or(INT64_MAX), 1000000);
  a_->StartReconnectTimer(1000000, [&] { expired += 10; });
  while (expired == 0) loop_.RunOnce(-1);
  EXPECT_EQ(expired, 1);
  b_->StartReconnectTimer(1000000, [&] { ++expired; });
  Link();
  bool passed = false;
  loop_.AddTimer(5000000, [&] { passed = true; });
  while (!passed) loop_.RunOnce(-1);
  EXPECT_EQ(expired, 1);
}

}  // namespace
}  // namespace canopy::overlay
