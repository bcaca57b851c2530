#include "server/overlay/reassembly.h"

#include <gtest/gtest.h>

#include <string>

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

using Outcome = Reassembly::Outcome;

// Returns the message that the piece completes; empty if it is incomplete.
std::string Whole(Reassembly* r, const Packet& piece) {
  const Reassembly::Added added = r->Add(piece);
  EXPECT_NE(added.outcome, Outcome::kRefused);
  EXPECT_EQ(added.outcome == Outcome::kIncomplete, added.bytes.empty());
  return std::string(added.bytes.view());
}

TEST(ReassemblyTest, AMessageOfOnePieceIsCopiedFromItsFrame) {
  Reassembly r(100);
  const Packet p = Piece(1, 1, "abc", false);
  const Reassembly::Added added = r.Add(p);
  ASSERT_EQ(added.outcome, Outcome::kWhole);
  EXPECT_EQ(added.bytes.view(), "abc");
  EXPECT_NE(added.bytes.view().data(), p.piece.view().data());
}

TEST(ReassemblyTest, InterleavedMessagesComeOutWhole) {
  Reassembly r(100);
  EXPECT_EQ(Whole(&r, Piece(1, 1, "a", true)), "");
  EXPECT_EQ(Whole(&r, Piece(2, 1, "x", true)), "");
  EXPECT_EQ(Whole(&r, Piece(1, 2, "q", true)), "");
  EXPECT_EQ(Whole(&r, Piece(1, 1, "b", false)), "ab");
  EXPECT_EQ(Whole(&r, Piece(2, 1, "y", false)), "xy");
  EXPECT_EQ(Whole(&r, Piece(1, 2, "r", false)), "qr");
  EXPECT_EQ(r.bytes(), 0u);
}

TEST(ReassemblyTest, AMessageOverTheLimitIsRefusedOnce) {
  Reassembly r(5);
  Whole(&r, Piece(1, 1, "abc", true));
  const Reassembly::Added refused = r.Add(Piece(1, 1, "def", true));
  EXPECT_EQ(refused.outcome, Outcome::kRefused);
  EXPECT_EQ(refused.bytes.view(), "abc");
  EXPECT_EQ(r.bytes(), 0u);
  EXPECT_EQ(Whole(&r, Piece(1, 1, "g", false)), "");
  EXPECT_EQ(Whole(&r, Piece(1, 2, "ab", true)), "");
  EXPECT_EQ(Whole(&r, Piece(1, 2, "cd", false)), "abcd");
}

TEST(ReassemblyTest, AFirstPieceThatDoesNotFitIsRefused) {
  Reassembly r(5);
  Whole(&r, Piece(1, 1, "abc", true));
  const Reassembly::Added refused = r.Add(Piece(2, 1, "xyz", true));
  EXPECT_EQ(refused.outcome, Outcome::kRefused);
  EXPECT_EQ(refused.bytes.view(), "xyz");
  EXPECT_EQ(Whole(&r, Piece(1, 1, "d", false)), "abcd");
}

TEST(ReassemblyTest, DropSourceDropsTheMessagesOfThatSource) {
  Reassembly r(100);
  Whole(&r, Piece(1, 1, "a", true));
  Whole(&r, Piece(2, 1, "b", true));
  r.DropSource(1);
  EXPECT_EQ(r.bytes(), 1u);
  EXPECT_EQ(Whole(&r, Piece(2, 1, "c", false)), "bc");
}

TEST(ReassemblyTest, SweepDropsMessagesWithoutAPieceSinceTheLastSweep) {
  Reassembly r(100);
  Whole(&r, Piece(1, 1, "a", true));
  Whole(&r, Piece(1, 2, "b", true));
  r.Sweep();
  Whole(&r, Piece(1, 2, "c", true));
  r.Sweep();
  EXPECT_EQ(r.bytes(), 2u);
  EXPECT_EQ(Whole(&r, Piece(1, 2, "d", false)), "bcd");
}

}  // namespace
}  // namespace canopy::overlay
