#include "server/core/iof/output_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "common/bytes.h"
#include "common/iof_call.h"
#include "common/job.h"
#include "server/core/iof/puller.h"

namespace canopy::core {
namespace {

constexpr uint16_t kOut = kOutputChannel;

OutputRead Want() {
  OutputRead read;
  read.channels = kOut;
  return read;
}

JobOutput Out(const std::string& text, uint64_t end, Rank rank = 0) {
  return {0, end, rank, kOut, Bytes(text)};
}

OutputRun Filled(const OutputCache& cache, bool from_now = false,
                 std::set<Rank> ranks = {}) {
  Puller puller(1, cache.num_nodes(), std::move(ranks), Want());
  cache.Fill(from_now, &puller);
  return puller.Next();
}

std::string Text(const OutputRun& run) {
  std::string text;
  for (const OutputPiece& piece : run.pieces) {
    text += piece.data.empty() ? "|" : std::string(piece.data.view());
  }
  return text;
}

TEST(OutputCache, Iof10ALatePullerGetsTheCachedOutput) {
  OutputCache cache(1, {});
  cache.Add(Out("one", 3));
  cache.Add({0, 3, 0, kOut, {}});
  cache.Add(Out("two", 6, 1));
  EXPECT_EQ(Text(Filled(cache)), "onetwo|");
  EXPECT_EQ(Text(Filled(cache, true)), "|");
}

TEST(OutputCache, OutputThatAPredecessorReceivedIsCountedAsDropped) {
  OutputCache cache(2, {});
  cache.Add(Out("abc", 10));
  EXPECT_EQ(Text(Filled(cache)), "abc");
  EXPECT_EQ(Filled(cache).dropped, 7u);
  EXPECT_EQ(Filled(cache, true).dropped, 0u);
  // The output of this node has not arrived yet.
  for (const bool from_now : {false, true}) {
    Puller puller(1, 2, {}, Want());
    cache.Fill(from_now, &puller);
    puller.Add({1, 5, 1, kOut, Bytes("yz")});
    EXPECT_EQ(puller.dropped(), from_now ? 0u : 10u);
  }
}

TEST(OutputCache, TheOldestOutputIsDropped) {
  OutputCache cache(1, {6, 5, false, false});
  cache.Add(Out("abc", 3));
  cache.Add(Out("def", 6, 1));
  const OutputRun run = Filled(cache);
  EXPECT_EQ(Text(run), "bcdef");
  EXPECT_EQ(run.dropped, 1u);
  EXPECT_EQ(Filled(cache, false, {1}).dropped, 0u);
  cache.Add(Out("1234567", 13));
  EXPECT_EQ(Text(Filled(cache)), "34567");
  EXPECT_EQ(Filled(cache).dropped, 8u);
  EXPECT_EQ(cache.size(), 5u);
}

TEST(OutputCache, TheNewestOutputIsDroppedIfTheJobKeepsTheOldest) {
  OutputCache cache(1, {6, 5, true, false});
  cache.Add(Out("abc", 3));
  cache.Add(Out("def", 6));
  cache.Add(Out("g", 7));
  const OutputRun run = Filled(cache);
  EXPECT_EQ(Text(run), "abcde");
  EXPECT_EQ(run.dropped, 2u);
}

TEST(OutputCache, TheCachesOfOtherJobsLimitACache) {
  const JobForwarding large{6, kMaxCache, false, false};
  EXPECT_EQ(OutputCache(1, large).limit(), kMaxCache);
  EXPECT_EQ(OutputCache(1, large, 10 * kLeastCache).limit(), 5 * kLeastCache);
  EXPECT_EQ(OutputCache(1, large, 0).limit(), kLeastCache);
  EXPECT_EQ(OutputCache(1, {6, 5, false, false}, 0).limit(), 5u);
}

TEST(OutputCache, AResumedPullerGetsTheOutputAfterItsCursor) {
  OutputCache cache(1, {});
  Puller before(1, 1, {}, Want());
  before.Add(Out("ab", 2));
  const std::string cursor = before.Next().cursor;
  cache.Add(Out("abc", 3));
  Puller puller(2, 1, {}, Want());
  ASSERT_TRUE(puller.Resume(cursor));
  cache.Refill(&puller);
  EXPECT_EQ(Text(puller.Next()), "c");
}

}  // namespace
}  // namespace canopy::core
