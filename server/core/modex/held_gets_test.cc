#include "server/core/modex/held_gets.h"

#include <gtest/gtest.h>

namespace canopy::core {
namespace {

using Ids = std::vector<uint64_t>;

HeldGet Of(const ProcId& target, const std::string& key, ClientId client,
           TimeNs deadline = kNever) {
  HeldGet get;
  get.target = target;
  get.key = key;
  get.client = client;
  get.deadline = deadline;
  return get;
}

TEST(HeldGets, FindsGetsByTargetKeyClientAndJob) {
  HeldGets gets;
  const uint64_t a = gets.Add(Of({"job", 1}, "a", 10));
  const uint64_t b = gets.Add(Of({"job", 1}, "b", 11));
  const uint64_t again = gets.Add(Of({"job", 1}, "a", 11));
  const uint64_t any = gets.Add(Of({"job", kRankUndef}, "a", 10));
  const uint64_t other = gets.Add(Of({"other", 1}, "a", 10));
  EXPECT_EQ(gets.Of({"job", 1}, "a"), (Ids{a, again}));
  EXPECT_EQ(gets.Of({"job", 1}, "c"), Ids());
  EXPECT_EQ(gets.OfTarget({"job", 1}), (Ids{a, b, again}));
  EXPECT_EQ(gets.OfJob("job"), (Ids{a, b, again, any}));
  EXPECT_EQ(gets.OfJob("jo"), Ids());
  EXPECT_EQ(gets.OfClient(11), (Ids{b, again}));
  EXPECT_EQ(gets.NumOfClient(10), 3u);
  EXPECT_EQ(gets.Clients(), (std::vector<ClientId>{10, 11}));
  gets.Drop(a);
  gets.Drop(again);
  EXPECT_EQ(gets.Of({"job", 1}, "a"), Ids());
  EXPECT_EQ(gets.OfTarget({"job", 1}), Ids{b});
  EXPECT_EQ(gets.Find(a), nullptr);
  EXPECT_EQ(gets.Find(other)->target.nspace, "other");
}

TEST(HeldGets, DropRemovesAGetFromAllIndices) {
  HeldGets gets;
  HeldGet of_peer = Of({"job", 1}, "a", 0, 7);
  of_peer.node = 3;
  const uint64_t ids[] = {gets.Add(of_peer),
                          gets.Add(Of({"job", 1}, "a", 10, 5))};
  EXPECT_EQ(gets.Clients(), std::vector<ClientId>{10});
  for (const uint64_t id : ids) gets.Drop(id);
  gets.Drop(ids[0]);
  EXPECT_EQ(gets.size(), 0u);
  EXPECT_FALSE(gets.HasTarget({"job", 1}));
  EXPECT_TRUE(gets.Clients().empty());
  EXPECT_EQ(gets.NextDeadline(), kNever);
}

TEST(HeldGets, CountsTheGetsOfAJob) {
  HeldGets gets;
  HeldGet get = Of({"job", 1}, "a", 10);
  get.job = "greedy";
  const uint64_t first = gets.Add(get);
  gets.Add(get);
  get.job = "other";
  gets.Add(get);
  EXPECT_EQ(gets.NumOfJob("greedy"), 2u);
  gets.Drop(first);
  EXPECT_EQ(gets.NumOfJob("greedy"), 1u);
  EXPECT_EQ(gets.NumOfJob("other"), 1u);
  EXPECT_EQ(gets.NumOfJob("none"), 0u);
}

TEST(HeldGets, TheEarliestDeadlineExpiresFirst) {
  HeldGets gets;
  gets.Add(Of({"job", 1}, "a", 10));
  EXPECT_EQ(gets.NextDeadline(), kNever);
  gets.Add(Of({"job", 1}, "a", 10, 9));
  const uint64_t first = gets.Add(Of({"job", 2}, "a", 10, 5));
  EXPECT_EQ(gets.NextDeadline(), 5);
  EXPECT_EQ(gets.FirstExpired(4), 0u);
  EXPECT_EQ(gets.FirstExpired(5), first);
}

}  // namespace
}  // namespace canopy::core
