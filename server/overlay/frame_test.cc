#include "server/overlay/frame.h"

#include <gtest/gtest.h>

#include <random>

#include "protos/overlay.pb.h"

namespace canopy::overlay {
namespace {

std::string Flat(const Rope& rope) {
  std::string all;
  for (const Bytes& b : rope) all += b.view();
  return all;
}

Frame AnyFrame() {
  Frame frame;
  frame.hello = Hello{2, 1, 3, "node3", 77, "overlay", "nonce", 9, "host:1", 5};
  frame.welcome = Welcome{2, 0, 78, "other", "proof", 10, "node0", 6};
  frame.proof = Proof{"secret"};
  frame.received = 12;
  frame.members =
      Members{{{1, 5, true, "", "host:2"}, {2, 0, false, "gone", ""}},
              {{3, 2, "node3", "info", Service::kDrained, "repair", 1000}}};
  frame.packets.push_back({1, 2, 3, 4, true, 1, Bytes(std::string("small"))});
  frame.packets.push_back(
      {2, 2, 3, 4, false, 1, Bytes(std::string(kMaxPiece, 'L'))});
  return frame;
}

TEST(FrameTest, AFrameSurvivesARoundTrip) {
  const std::string bytes = Flat(EncodeFrame(AnyFrame()));
  const auto back = DecodeFrame(Bytes(bytes));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(Flat(EncodeFrame(*back)), bytes);
  EXPECT_EQ(back->hello->address, "host:1");
  EXPECT_EQ(back->welcome->peer_incarnation, 6u);
  EXPECT_EQ(back->received, 12u);
  EXPECT_EQ(back->members->changes[1].reason, "gone");
  EXPECT_EQ(back->members->records, AnyFrame().members->records);
  ASSERT_EQ(back->packets.size(), 2u);
  EXPECT_TRUE(back->packets[0].more);
  EXPECT_EQ(back->packets[1].piece.size(), kMaxPiece);
}

TEST(FrameTest, MembersSurviveARoundTripAndUnknownServicesAreRejected) {
  Members members = *AnyFrame().members;
  const auto back = DecodeMembers(EncodeMembers(members));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->records, members.records);
  EXPECT_EQ(back->changes.size(), 2u);
  EXPECT_FALSE(DecodeMembers("\xff").ok());
  members.records[0].service = static_cast<Service>(3);
  EXPECT_FALSE(DecodeMembers(EncodeMembers(members)).ok());
  Frame frame;
  frame.members = members;
  EXPECT_FALSE(DecodeFrame(Bytes(Flat(EncodeFrame(frame)))).ok());
}

TEST(FrameTest, ProtobufReadsAndWritesTheSameBytes) {
  const std::string bytes = Flat(EncodeFrame(AnyFrame()));
  v1::Frame generated;
  ASSERT_TRUE(generated.ParseFromString(bytes));
  EXPECT_EQ(generated.hello().node_name(), "node3");
  EXPECT_EQ(generated.hello().peer_incarnation(), 5u);
  EXPECT_EQ(generated.welcome().node_name(), "node0");
  EXPECT_EQ(generated.proof().proof(), "secret");
  EXPECT_EQ(generated.received(), 12u);
  EXPECT_EQ(generated.members().changes(0).address(), "host:2");
  EXPECT_EQ(generated.members().records(0).name(), "node3");
  EXPECT_EQ(generated.members().records(0).service(), 1u);
  EXPECT_EQ(generated.members().records(0).since_ms(), 1000u);
  EXPECT_EQ(generated.packets(0).piece(), "small");
  EXPECT_EQ(generated.packets(1).number(), 2u);
  const auto back = DecodeFrame(Bytes(generated.SerializeAsString()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(Flat(EncodeFrame(*back)), bytes);
}

TEST(FrameTest, LargePiecesShareTheirBytes) {
  Frame frame;
  const Bytes piece(std::string(100000, 'x'));
  frame.packets.push_back({1, 0, 1, 1, false, 0, piece});
  const Rope rope = EncodeFrame(frame);
  ASSERT_EQ(rope.size(), 2u);
  EXPECT_EQ(rope[1].view().data(), piece.view().data());
  const Bytes arrived(Flat(rope));
  const auto back = DecodeFrame(arrived);
  EXPECT_GE(back->packets[0].piece.view().data(), arrived.view().data());
}

TEST(FrameTest, FramesOverTheLimitsAreRejected) {
  Frame frame;
  frame.packets.push_back(
      {1, 0, 1, 1, false, 0, Bytes(std::string(kMaxPiece + 1, 'x'))});
  EXPECT_FALSE(DecodeFrame(Bytes(Flat(EncodeFrame(frame)))).ok());
  Frame hello;
  hello.hello = Hello();
  hello.hello->node_name = std::string(2000, 'n');
  EXPECT_FALSE(DecodeFrame(Bytes(Flat(EncodeFrame(hello)))).ok());
}

TEST(FrameTest, DecodingSurvivesMutationsAndTruncations) {
  Frame frame = AnyFrame();
  frame.packets.pop_back();
  const std::string whole = Flat(EncodeFrame(frame));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string changed = whole.substr(0, 1 + random() % whole.size());
    changed[random() % changed.size()] = static_cast<char>(random());
    const auto back = DecodeFrame(Bytes(changed));
    if (!back.ok()) continue;
    const auto again = DecodeFrame(Bytes(Flat(EncodeFrame(*back))));
    ASSERT_TRUE(again.ok());
  }
}

}  // namespace
}  // namespace canopy::overlay
