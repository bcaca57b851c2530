#include "server/library/arrivals.h"

#include <gtest/gtest.h>

#include <string>

#include "common/codec/infos.h"
#include "pmix_common.h"

namespace canopy::library {
namespace {

using core::CollectiveArrived;
using core::CollectiveId;
using core::CollectiveOp;

const ProcId kJob = {"job", kRankWildcard};

CollectiveArrived Fence(core::ClientId client, core::RequestId request,
                        const InfoList& infos = {}) {
  CollectiveArrived in;
  in.client = client;
  in.request = request;
  std::string encoded;
  (void)EncodeInfos(infos.data(), infos.size(), &encoded);
  in.info = Bytes(std::move(encoded));
  return in;
}

CollectiveId FenceOf(std::vector<ProcId> participants) {
  CollectiveId id;
  id.op = CollectiveOp::kFence;
  id.participants = std::move(participants);
  return id;
}

TEST(Arrivals, InfosOfAllCallersAreJoined) {
  Arrivals arrivals;
  arrivals.Add({"job", 0}, Fence(1, 1, {{"a", Value::Int(1)}}));
  arrivals.Add({"job", 1},
               Fence(2, 1, {{"a", Value::Int(2)}, {"b", Value::Int(3)}}));
  const Arrivals::Asked asked = arrivals.For(FenceOf({kJob}));
  EXPECT_EQ(asked.infos.FindInt("a"), 1);
  EXPECT_EQ(asked.infos.FindInt("b"), 3);
  EXPECT_FALSE(asked.collect);
  EXPECT_FALSE(asked.infos.Has(PMIX_COLLECT_DATA));
}

TEST(Arrivals, CollectDataAndTimeoutAreInfosForTheHost) {
  Arrivals arrivals;
  CollectiveArrived in = Fence(1, 1);
  in.collect_data = true;
  in.timeout_ms = 1500;
  arrivals.Add({"job", 0}, in);
  const Arrivals::Asked asked = arrivals.For(FenceOf({kJob}));
  EXPECT_TRUE(asked.collect);
  EXPECT_EQ(asked.infos.FindBool(PMIX_COLLECT_DATA), true);
  EXPECT_EQ(asked.infos.FindInt(PMIX_TIMEOUT), 2);
}

TEST(Arrivals, ParticipantsMatchInAnyOrder) {
  Arrivals arrivals;
  CollectiveArrived in = Fence(1, 1, {{"a", Value::Int(1)}});
  in.participants = {{"job", 1}, {"job", 0}};
  arrivals.Add({"job", 0}, in);
  EXPECT_TRUE(arrivals.For(FenceOf({{"job", 0}, {"job", 1}})).infos.Has("a"));
  EXPECT_FALSE(arrivals.For(FenceOf({kJob})).infos.Has("a"));
}

TEST(Arrivals, TheFirstWaitingCallOfAProcessIsUsed) {
  Arrivals arrivals;
  arrivals.Add({"job", 0}, Fence(1, 1, {{"first", Value::Int(1)}}));
  arrivals.Add({"job", 0}, Fence(1, 2, {{"second", Value::Int(1)}}));
  EXPECT_TRUE(arrivals.For(FenceOf({kJob})).infos.Has("first"));
  EXPECT_FALSE(arrivals.For(FenceOf({kJob})).infos.Has("second"));
  arrivals.Remove(1, 1);
  EXPECT_TRUE(arrivals.For(FenceOf({kJob})).infos.Has("second"));
  arrivals.Remove(1, 2);
  EXPECT_EQ(arrivals.size(), 0u);
}

TEST(Arrivals, ArrivalsAtTheBarrierAreIncludedInTheCall) {
  Arrivals arrivals;
  arrivals.Add({"job", 0}, Fence(1, 1, {{"a", Value::Int(1)}}));
  arrivals.AddAtBarrier({"job", 1}, 2, true);
  const Arrivals::Asked asked = arrivals.For(FenceOf({kJob}));
  EXPECT_TRUE(asked.collect);
  EXPECT_TRUE(asked.infos.Has("a"));
  arrivals.RemoveAtBarrier(1);
  EXPECT_EQ(arrivals.size(), 2u) << "it waits for an answer";
  arrivals.RemoveAtBarrier(2);
  EXPECT_FALSE(arrivals.For(FenceOf({kJob})).collect);
}

TEST(Arrivals, RemoveAllRemovesTheCallsOfAClient) {
  Arrivals arrivals;
  arrivals.Add({"job", 0}, Fence(1, 1));
  arrivals.Add({"job", 0}, Fence(1, 2));
  arrivals.Add({"job", 1}, Fence(2, 1, {{"a", Value::Int(1)}}));
  arrivals.RemoveAll(1);
  EXPECT_EQ(arrivals.size(), 1u);
  EXPECT_TRUE(arrivals.For(FenceOf({kJob})).infos.Has("a"));
}

TEST(Arrivals, GroupsAreIdentifiedByTheirNames) {
  Arrivals arrivals;
  CollectiveArrived in = Fence(1, 1, {{"a", Value::Int(1)}});
  in.op = CollectiveOp::kGroupConstruct;
  in.name = "group";
  in.participants = {{"job", 0}, {"job", 1}};
  arrivals.Add({"job", 0}, in);
  CollectiveId id;
  id.op = CollectiveOp::kGroupConstruct;
  id.participants = {kJob};
  id.name = "group";
  EXPECT_TRUE(arrivals.For(id).infos.Has("a"));
  id.name = "other";
  EXPECT_FALSE(arrivals.For(id).infos.Has("a"));
}

}  // namespace
}  // namespace canopy::library
