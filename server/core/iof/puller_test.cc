#include "server/core/iof/puller.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::core {
namespace {

constexpr uint16_t kOut = kOutputChannel;
constexpr uint16_t kErr = kErrorChannel;

OutputRead Want(uint64_t cache = 0, Overflow overflow = Overflow::kDropNewest) {
  OutputRead read;
  read.channels = kOut;
  read.cache_size = cache;
  read.overflow = overflow;
  return read;
}

std::string Text(const OutputRun& run) {
  std::string text;
  for (const OutputPiece& piece : run.pieces) {
    text += piece.data.empty() ? "|" : std::string(piece.data.view());
  }
  return text;
}

// Returns output of node 0 that ends at this position.
JobOutput Out(const std::string& text, uint64_t end, Rank rank = 0,
              uint16_t channel = kOut) {
  return {0, end, rank, channel, Bytes(text)};
}

TEST(Puller, ReturnsTheSelectedOutputInOrder) {
  Puller puller(1, 1, {0, 2}, Want());
  puller.Add(Out("one", 3));
  puller.Add(Out("two", 6, 1));
  puller.Add(Out("three", 11, 2));
  puller.Add(Out("four", 15, 0, kErr));
  puller.Add({0, 15, 0, kOut, {}});
  EXPECT_TRUE(puller.HasNews());
  EXPECT_EQ(Text(puller.Next()), "onethree|");
}

TEST(Puller, AnAnswerIsRepeatedUntilItIsAcknowledged) {
  Puller puller(1, 1, {}, Want());
  const std::string first = puller.Welcome().cursor;
  puller.Add(Out("one", 3));
  const OutputRun lost = puller.Next();
  puller.Add(Out("two", 6));
  ASSERT_TRUE(puller.Acknowledge(first));
  const OutputRun again = puller.Next();
  EXPECT_EQ(Text(again), "one");
  EXPECT_TRUE(puller.HasNews());
  ASSERT_TRUE(puller.Acknowledge(again.cursor));
  const OutputRun second = puller.Next();
  EXPECT_EQ(Text(second), "two");
  ASSERT_TRUE(puller.Acknowledge(second.cursor));
  EXPECT_FALSE(puller.HasNews());
  EXPECT_FALSE(puller.Acknowledge("garbage"));
}

TEST(Puller, TheNewestOutputIsDroppedAndCounted) {
  Puller puller(1, 1, {}, Want(5));
  puller.Add(Out("abc", 3));
  puller.Add(Out("defg", 7));
  puller.Add(Out("h", 8));
  const OutputRun run = puller.Next();
  EXPECT_EQ(Text(run), "abcde");
  EXPECT_EQ(run.dropped, 3u);
  ASSERT_TRUE(puller.Acknowledge(run.cursor));
  puller.Add(Out("i", 9));
  EXPECT_EQ(Text(puller.Next()), "i");
}

TEST(Puller, TheOldestOutputIsDroppedAndCounted) {
  Puller puller(1, 1, {}, Want(5, Overflow::kDropOldest));
  puller.Add({0, 0, 5, kOut, {}});
  puller.Add(Out("abc", 3));
  puller.Add({0, 3, 1, kOut, {}});
  puller.Add(Out("defg", 7));
  const OutputRun run = puller.Next();
  EXPECT_EQ(Text(run), "|c|defg");
  EXPECT_EQ(run.dropped, 2u);
  ASSERT_TRUE(puller.Acknowledge(run.cursor));
  puller.Add(Out("12345678", 15));
  const OutputRun more = puller.Next();
  EXPECT_EQ(Text(more), "45678");
  EXPECT_EQ(more.dropped, 5u);
}

TEST(Puller, AnAnswerIsBounded) {
  Puller puller(1, 1, {}, Want(kMaxCache));
  const std::string piece(size_t{100} << 10, 'x');
  for (uint64_t i = 1; i <= 10; ++i) puller.Add(Out(piece, i * piece.size()));
  EXPECT_EQ(puller.Next().pieces.size(), 3u);
}

TEST(Puller, TheEndIsSentAloneAndRepeatedIfLost) {
  Puller puller(1, 1, {}, Want());
  puller.Add(Out("one", 3));
  puller.Complete();
  const OutputRun run = puller.Next();
  EXPECT_FALSE(run.complete);
  ASSERT_TRUE(puller.Acknowledge(run.cursor));
  EXPECT_TRUE(puller.HasNews());
  const OutputRun end = puller.Next();
  EXPECT_TRUE(end.complete);
  EXPECT_TRUE(end.pieces.empty());
  EXPECT_TRUE(puller.HasNews());
  EXPECT_TRUE(puller.Next().complete);
}

TEST(Puller, AnotherAgentResumesFromTheCursor) {
  Puller before(1, 2, {}, Want(4));
  before.Add(Out("abc", 3));
  const OutputRun run = before.Next();
  before.Add(Out("de", 5));
  before.Add({1, 2, 1, kOut, Bytes(std::string("xy"))});
  ASSERT_TRUE(before.Acknowledge(run.cursor));
  const std::string cursor = run.cursor;

  // The nodes send again the output that the launcher has not received.
  Puller after(2, 2, {}, Want());
  EXPECT_FALSE(after.Acknowledge(cursor));
  ASSERT_TRUE(after.Resume(cursor));
  after.Add(Out("bcdef", 6));
  after.Add({1, 5, 1, kOut, Bytes(std::string("z"))});
  const OutputRun rest = after.Next();
  EXPECT_EQ(Text(rest), "defz");
  EXPECT_EQ(rest.dropped, 4u);
  EXPECT_FALSE(after.Resume("garbage"));
  Puller other(3, 1, {}, Want());
  EXPECT_FALSE(other.Resume(cursor));
}

TEST(Puller, DroppedOutputIsReportedAtItsPositionInTheStream) {
  const std::string big(kMaxRun, 'a');
  Puller before(1, 1, {}, Want(kMaxRun + 2));
  before.Add(Out(big, big.size()));
  before.Add(Out("bb", big.size() + 2));
  before.Add(Out("c", big.size() + 3));
  const OutputRun run = before.Next();
  EXPECT_EQ(Text(run), big);
  EXPECT_EQ(run.dropped, 0u);

  // The puller at another agent has room for the output that this puller drops.
  Puller after(2, 1, {}, Want());
  ASSERT_TRUE(after.Resume(run.cursor));
  after.Add(Out("bbcd", big.size() + 4));
  const OutputRun rest = after.Next();
  EXPECT_EQ(Text(rest), "bbcd");
  EXPECT_EQ(rest.dropped, 0u);

  ASSERT_TRUE(before.Acknowledge(run.cursor));
  const OutputRun last = before.Next();
  EXPECT_EQ(Text(last), "bb");
  EXPECT_EQ(last.dropped, 1u);
}

// Queued output was not read yet, so the answer's cursor lies before it.
TEST(Puller, TheCursorIncludesOnlyAnsweredOutput) {
  Puller before(1, 1, {}, Want(kMaxCache));
  const std::string big(kMaxRun, 'a');
  before.Add(Out(big, big.size()));
  before.Add(Out("rest", big.size() + 4));
  const OutputRun run = before.Next();
  ASSERT_EQ(Text(run), big);
  Puller after(2, 1, {}, Want());
  ASSERT_TRUE(after.Resume(run.cursor));
  after.Add(Out("rest", big.size() + 4));
  EXPECT_EQ(Text(after.Next()), "rest");
}

}  // namespace
}  // namespace canopy::core
