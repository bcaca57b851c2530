#include "server/core/job/stream_flow.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

constexpr uint16_t kOut = 2;
constexpr uint16_t kErr = 4;

TEST(OutputFlowTest, StandardOutputAndErrorAreAwaited) {
  OutputFlow flow(*JobOn("job", {0, 1}));
  EXPECT_TRUE(flow.IsOpen(0, kOut));
  flow.OnClosed(0, kOut);
  flow.OnClosed(0, kOut);
  flow.OnClosed(0, 8);  // the end of diagnostics is not awaited
  EXPECT_FALSE(flow.IsOpen(0, kOut));
  EXPECT_EQ(flow.OpenRanks(), (std::vector<Rank>{0, 1}));
  EXPECT_TRUE(flow.CloseAll(0));
  EXPECT_FALSE(flow.CloseAll(0));
  flow.OnClosed(1, kOut | kErr);
  EXPECT_TRUE(flow.all_closed());
}

TEST(OutputFlowTest, MergedStandardErrorIsNotAwaited) {
  JobSpec spec = *JobOn("job", {0});
  spec.merge_stderr = true;
  OutputFlow flow(spec);
  flow.OnClosed(0, kOut);
  EXPECT_TRUE(flow.all_closed());
}

TEST(OutputFlowTest, OnDeliveredDetectsDuplicatesAndGaps) {
  OutputFlow flow(*JobOn("job", {0, 1}));
  EXPECT_EQ(flow.OnDelivered(1, 10, 10), 0u);
  EXPECT_EQ(flow.OnDelivered(1, 10, 15), 5u);
  EXPECT_EQ(flow.OnDelivered(1, 10, 15), 10u);
  EXPECT_FALSE(flow.OnDelivered(1, 10, 30).has_value());
  EXPECT_FALSE(flow.OnDelivered(1, 10, 5).has_value());
  // Data without a position counts as new.
  EXPECT_EQ(flow.OnDelivered(1, 3, 0), 0u);
  EXPECT_EQ(flow.unconsumed(), 18u);
  EXPECT_EQ(flow.OnConsumed(1, 18), 18u);
  EXPECT_EQ(flow.OnConsumed(1, 5), 23u);
  EXPECT_EQ(flow.unconsumed(), 0u);
}

TEST(OutputFlowTest, SetReceivedAndSkipToSetThePositions) {
  OutputFlow flow(*JobOn("job", {0, 1}));
  flow.SetReceived({7, 9, 1000});
  EXPECT_EQ(flow.consumed(1), 9u);
  EXPECT_EQ(flow.OnDelivered(1, 2, 10), 1u);
  flow.SkipTo(0, 20);
  flow.SkipTo(0, 5);
  EXPECT_EQ(flow.consumed(0), 20u);
  EXPECT_EQ(flow.OnDelivered(0, 1, 21), 0u);
}

TEST(InputFlowTest, InputIsConsumedByTheSlowestNode) {
  InputFlow flow(2);
  flow.OnSent(10);
  EXPECT_EQ(flow.OnTaken(0, 10, 0, {0, 1}), 0u);
  EXPECT_EQ(flow.OnTaken(1, 4, 0, {0, 1}), 4u);
  EXPECT_EQ(flow.OnTaken(1, 0, 6, {0, 1}), 2u);
  // OnTaken never returns more than the number of bytes that were sent.
  EXPECT_EQ(flow.OnTaken(1, 1000, 0, {0, 1}), 4u);
  EXPECT_EQ(flow.done(), 10u);
}

TEST(InputFlowTest, InputWithoutReadersCountsAsConsumed) {
  InputFlow flow(2);
  flow.OnSent(10);
  flow.OnTaken(0, 3, 0, {0, 1});
  EXPECT_EQ(flow.Advance({0}), 3u);
  EXPECT_EQ(flow.Advance({}), 7u);
  EXPECT_EQ(flow.Advance({}), 0u);
}

TEST(InputFlowTest, TotalsNotedBeforeTheBeginCountFromTheBegin) {
  InputFlow flow(1);
  flow.NoteTaken(0, 70);
  flow.NoteTaken(0, 60);
  flow.SetBegin(50);
  flow.OnSent(30);
  EXPECT_EQ(flow.Advance({0}), 20u);
}

TEST(InputOrderTest, APieceAfterAGapRequestsTheInputAgain) {
  InputOrder order;
  EXPECT_TRUE(order.OnPiece(4, 4).passes);
  const InputOrder::Verdict early = order.OnPiece(4, 12);
  EXPECT_FALSE(early.passes);
  EXPECT_TRUE(early.requests);
  EXPECT_TRUE(order.OnPiece(4, 4).passes) << "once more";
  EXPECT_FALSE(order.OnPiece(4, 8).requests) << "what was requested has all";
  EXPECT_TRUE(order.OnPiece(4, 12).passes);
}

// The second piece that leaves a gap may have been sent after the answer to the
// first request, so this answer may lack it.
TEST(InputOrderTest, TwoPiecesAfterAGapCauseTwoRequests) {
  InputOrder order;
  EXPECT_TRUE(order.OnPiece(4, 8).requests);
  EXPECT_FALSE(order.OnPiece(0, 8).requests);
  EXPECT_TRUE(order.OnPiece(4, 4).requests);
  EXPECT_FALSE(order.OnPiece(4, 8).requests);
  EXPECT_TRUE(order.OnPiece(0, 8).passes);
}

TEST(InputOrderTest, APieceWithoutAPositionIsAccepted) {
  InputOrder order;
  EXPECT_TRUE(order.OnPiece(4, 0).passes);
  order.Forget();
  EXPECT_FALSE(order.taken());
  EXPECT_TRUE(order.OnPiece(4, 100).passes);
  order.OnTaken(100);
  EXPECT_EQ(order.taken(), 100u);
  EXPECT_FALSE(order.OnPiece(4, 108).passes);
}

TEST(InputOrderTest, ANewInputRunBeginsAfterTheReceivedInput) {
  InputOrder order;
  EXPECT_TRUE(order.OnPiece(4, 4).passes);
  const InputOrder::Verdict first = order.OnPiece(3, 3, 9);
  EXPECT_TRUE(first.passes);
  EXPECT_TRUE(first.begins);
  EXPECT_EQ(order.run().begin, 4u);
  EXPECT_EQ(order.FromRun(3), 7u);
  EXPECT_EQ(order.InRun(6), 2u);
  EXPECT_EQ(order.InRun(3), 0u);
  EXPECT_FALSE(order.OnPiece(3, 6, 9).begins);
  EXPECT_TRUE(order.OnPiece(3, 12, 9).requests) << "there is a gap";
  EXPECT_FALSE(order.OnPiece(4, 8).passes) << "of who does not control it";
}

// Input that the shim has and the ranks have not consumed also precedes the
// input run.
TEST(InputOrderTest, AnInputRunIsRejectedUntilItsBeginIsKnown) {
  InputOrder order;
  order.Forget();
  EXPECT_FALSE(order.OnPiece(3, 3, 9).passes);
  EXPECT_EQ(order.run().id, 0u);
  order.OnTaken(5, 7);
  EXPECT_TRUE(order.OnPiece(3, 3, 9).passes);
  EXPECT_EQ(order.run().begin, 7u);
  order.Forget();
  EXPECT_TRUE(order.OnPiece(3, 6, 9).passes) << "it is known for this run";
  order.Recover({11, 20});
  EXPECT_FALSE(order.OnPiece(3, 6, 9).passes);
  EXPECT_EQ(order.FromRun(1), 21u);
}

}  // namespace
}  // namespace canopy::core
