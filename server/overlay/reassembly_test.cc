#include "server/overlay/reassembly.h"

#include <gtest/gtest.h>

namespace canopy::overlay {
namespace {

Packet Piece(NodeId source, uint64_t message, const std::string& text,
             bool more) {
  Packet p;
  p.source = source;
  p.message = message;
  p.more = more;
  p.piece = Bytes(text);
  return p;
}

TEST(ReassemblyTest, OnePieceIsCopiedOutOfItsFrame) {
  Reassembly r(100);
  const Packet p = Piece(1, 1, "abc", false);
  const auto whole = r.Add(p);
  ASSERT_TRUE(whole.ok() && whole->has_value());
  EXPECT_EQ((*whole)->view(), "abc");
  EXPECT_NE((*whole)->view().data(), p.piece.view().data());
}

TEST(ReassemblyTest, InterleavedMessagesComeOutWhole) {
  Reassembly r(100);
  EXPECT_FALSE(r.Add(Piece(1, 1, "a", true))->has_value());
  EXPECT_FALSE(r.Add(Piece(2, 1, "x", true))->has_value());
  EXPECT_FALSE(r.Add(Piece(1, 2, "q", true))->has_value());
  EXPECT_EQ((*r.Add(Piece(1, 1, "b", false)))->view(), "ab");
  EXPECT_EQ((*r.Add(Piece(2, 1, "y", false)))->view(), "xy");
  EXPECT_EQ((*r.Add(Piece(1, 2, "r", false)))->view(), "qr");
  EXPECT_EQ(r.bytes(), 0u);
}

TEST(ReassemblyTest, OverTheLimitIsDroppedOnceAndForgotten) {
  Reassembly r(5);
  EXPECT_TRUE(r.Add(Piece(1, 1, "abc", true)).ok());
  EXPECT_EQ(r.Add(Piece(1, 1, "def", true)).code(), kErrOutOfResource);
  EXPECT_EQ(r.bytes(), 0u);
  const auto later = r.Add(Piece(1, 1, "g", false));
  ASSERT_TRUE(later.ok());
  EXPECT_FALSE(later->has_value());
  EXPECT_FALSE(r.Add(Piece(1, 2, "ab", true))->has_value());
  EXPECT_EQ((*r.Add(Piece(1, 2, "cd", false)))->view(), "abcd");
}

TEST(ReassemblyTest, LostSourcesLeaveNothingBehind) {
  Reassembly r(100);
  r.Add(Piece(1, 1, "a", true)).ok();
  r.Add(Piece(2, 1, "b", true)).ok();
  r.DropSource(1);
  EXPECT_EQ(r.bytes(), 1u);
  EXPECT_EQ((*r.Add(Piece(2, 1, "c", false)))->view(), "bc");
}

TEST(ReassemblyTest, SweepDropsWhatStoodStillBetweenTwo) {
  Reassembly r(100);
  r.Add(Piece(1, 1, "a", true)).ok();
  r.Add(Piece(1, 2, "b", true)).ok();
  r.Sweep();
  r.Add(Piece(1, 2, "c", true)).ok();
  r.Sweep();
  EXPECT_EQ(r.bytes(), 2u);
  EXPECT_EQ((*r.Add(Piece(1, 2, "d", false)))->view(), "bcd");
}

}  // namespace
}  // namespace canopy::overlay
