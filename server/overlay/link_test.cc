#include "server/overlay/link.h"

#include <gtest/gtest.h>

namespace canopy::overlay {
namespace {

Packet Piece(uint64_t message, size_t size, uint32_t priority = 0,
             bool more = false) {
  Packet p;
  p.source = 1;
  p.target = 2;
  p.message = message;
  p.more = more;
  p.priority = priority;
  p.piece = Bytes(std::string(size, 'x'));
  return p;
}

std::vector<uint64_t> Messages(const Frame& frame) {
  std::vector<uint64_t> out;
  for (const Packet& p : frame.packets) out.push_back(p.message);
  return out;
}

std::vector<uint64_t> Numbers(const Frame& frame) {
  std::vector<uint64_t> out;
  for (const Packet& p : frame.packets) out.push_back(p.number);
  return out;
}

Frame Filled(Link* link, bool ack_now = false) {
  Frame frame;
  link->Fill(&frame, ack_now);
  return frame;
}

TEST(LinkTest, SmallMessagesAreSentInOneFrame) {
  Link link;
  for (uint64_t i = 1; i <= 3; ++i) link.Enqueue(Piece(i, 10));
  const Frame frame = Filled(&link);
  EXPECT_EQ(Messages(frame), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(Numbers(frame), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_FALSE(link.Waiting());
  EXPECT_EQ(link.queued_bytes(), 0u);
  EXPECT_FALSE(link.Idle());
}

TEST(LinkTest, UrgentMessagesOvertakeBulkDataBetweenPieces) {
  Link link;
  for (int i = 0; i < 4; ++i) link.Enqueue(Piece(1, kMaxPiece, 1, i < 3));
  EXPECT_EQ(Messages(Filled(&link)), (std::vector<uint64_t>{1}));
  link.Enqueue(Piece(2, 10, 0));
  EXPECT_EQ(Messages(Filled(&link)), (std::vector<uint64_t>{2}));
  EXPECT_EQ(Messages(Filled(&link)), (std::vector<uint64_t>{1}));
}

TEST(LinkTest, AnUrgentMessageOvertakesManySmallOnes) {
  Link link;
  for (uint64_t i = 1; i <= 3 * kMaxPackets; ++i) {
    link.Enqueue(Piece(i, 1, kPriorities - 1));
  }
  EXPECT_EQ(Filled(&link).packets.size(), kMaxPackets);
  link.Enqueue(Piece(9999, 1, 0));
  EXPECT_EQ(Filled(&link).packets.front().message, 9999u);
  // The same limit holds when packets are sent again.
  Filled(&link);
  Filled(&link);
  ASSERT_FALSE(link.Waiting());
  ASSERT_TRUE(link.Resume(0));
  size_t again = 0;
  while (link.Waiting()) {
    const size_t packets = Filled(&link).packets.size();
    EXPECT_LE(packets, kMaxPackets);
    again += packets;
  }
  EXPECT_EQ(again, 3 * kMaxPackets + 1);
}

TEST(LinkTest, UnknownPrioritiesAreTreatedAsTheLowest) {
  Link link;
  link.Enqueue(Piece(1, 10, 4000000000u));
  link.Enqueue(Piece(2, 10, 2));
  link.Enqueue(Piece(3, 10, 1));
  EXPECT_EQ(Messages(Filled(&link)), (std::vector<uint64_t>{3, 1, 2}));
}

TEST(LinkTest, ResumeResendsUnacknowledgedPackets) {
  Link link;
  for (uint64_t i = 1; i <= 5; ++i) link.Enqueue(Piece(i, 10));
  Filled(&link);
  EXPECT_TRUE(link.Acknowledge(2));
  link.Enqueue(Piece(6, 10));
  EXPECT_TRUE(link.Resume(3));
  EXPECT_TRUE(link.Waiting());
  const Frame frame = Filled(&link);
  EXPECT_EQ(Messages(frame), (std::vector<uint64_t>{4, 5, 6}));
  EXPECT_EQ(Numbers(frame), (std::vector<uint64_t>{4, 5, 6}));
  EXPECT_TRUE(link.Acknowledge(6));
  EXPECT_TRUE(link.Idle());
}

TEST(LinkTest, AcknowledgingAnUnsentPacketFails) {
  Link link;
  link.Enqueue(Piece(1, 10));
  EXPECT_FALSE(link.Acknowledge(1));
  Filled(&link);
  EXPECT_TRUE(link.Acknowledge(1));
  EXPECT_FALSE(link.Resume(2));
}

TEST(LinkTest, ArrivalsAreCheckedAndAcknowledged) {
  Link link;
  Packet p = Piece(1, 10);
  p.number = 1;
  EXPECT_EQ(link.Arrived(p), Link::Arrival::kNew);
  EXPECT_EQ(link.Arrived(p), Link::Arrival::kDuplicate);
  p.number = 3;
  EXPECT_EQ(link.Arrived(p), Link::Arrival::kGap);
  EXPECT_TRUE(link.AckOwed());
  EXPECT_FALSE(link.AckDue());
  Frame nothing;
  EXPECT_FALSE(link.Fill(&nothing, false));
  EXPECT_EQ(Filled(&link, true).received, 1u);
  EXPECT_FALSE(link.AckOwed());
}

TEST(LinkTest, AnAcknowledgementIsDueAfterManyOrLargePackets) {
  Link many;
  for (uint64_t i = 1; i <= 64; ++i) {
    Packet p = Piece(i, 1);
    p.number = i;
    many.Arrived(p);
  }
  EXPECT_TRUE(many.AckDue());
  Link large;
  for (uint64_t i = 1; i <= 4; ++i) {
    Packet p = Piece(i, kMaxPiece);
    p.number = i;
    large.Arrived(p);
  }
  EXPECT_TRUE(large.AckDue());
  EXPECT_EQ(Filled(&large).received, 4u);
}

TEST(LinkTest, AFrameWithPacketsContainsTheAcknowledgement) {
  Link link;
  Packet p = Piece(1, 10);
  p.number = 1;
  link.Arrived(p);
  link.Enqueue(Piece(2, 10));
  EXPECT_EQ(Filled(&link).received, 1u);
  EXPECT_FALSE(link.AckOwed());
}

TEST(LinkTest, TakeUnsentOmitsPartlySentMessages) {
  Link link;
  link.Enqueue(Piece(1, kMaxPiece, 1, true));
  link.Enqueue(Piece(1, 10, 1, false));
  link.Enqueue(Piece(2, 10, 1));
  Filled(&link);
  const auto taken = link.TakeUnsent(false);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].message, 2u);
  EXPECT_EQ(link.queued_bytes(), 0u);
}

TEST(LinkTest, TakeUnsentCanIncludeUnacknowledgedPackets) {
  Link link;
  link.Enqueue(Piece(1, kMaxPiece, 1, true));
  link.Enqueue(Piece(1, 10, 1, false));
  Filled(&link);
  const auto taken = link.TakeUnsent(true);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_TRUE(taken[0].more);
  EXPECT_FALSE(taken[1].more);
  EXPECT_TRUE(link.Idle());
}

TEST(LinkTest, ResetRestartsTheNumbersOfBothDirections) {
  Link link;
  link.Enqueue(Piece(1, 10));
  Filled(&link);
  Packet p = Piece(1, 10);
  p.number = 1;
  link.Arrived(p);
  link.Reset();
  EXPECT_EQ(link.received(), 0u);
  EXPECT_TRUE(link.Idle());
  link.Enqueue(Piece(2, 10));
  EXPECT_EQ(Numbers(Filled(&link)), (std::vector<uint64_t>{1}));
}

}  // namespace
}  // namespace canopy::overlay
