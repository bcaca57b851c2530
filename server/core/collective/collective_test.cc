#include "server/core/collective/collective.h"

#include <gtest/gtest.h>

#include "common/codec/encoder.h"
#include "common/growth_testing.h"
#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

using Procs = std::vector<ProcId>;

// The engine of agent 1 in a binary tree of 7 agents: its parent is 0, its
// children are 3 and 4. Job "job" has ranks 0 and 1 here and rank 2 on agent 3.
class CollectiveTest : public testing::Test {
 protected:
  CollectiveTest() : tree_(7, 2), jobs_(1), engine_(1, tree_, jobs_, modex_) {
    engine_.set_events(&events_);
    jobs_.Add(JobOn("job", {1, 1, 3}));
    jobs_.Register("job", &actions_);
    jobs_.Connect(10, {"job", 0});
    jobs_.Connect(11, {"job", 1});
    actions_.clear();
  }

  CollectiveArrived Fence(ClientId client, Procs procs = {}) {
    CollectiveArrived in;
    in.client = client;
    in.request = ++request_;
    in.participants = std::move(procs);
    return in;
  }
  RequestId Arrive(const CollectiveArrived& in) {
    engine_.OnArrived({now_, actions_, &events_}, in);
    return in.request;
  }
  CollectiveId Id(uint64_t sequence, Procs procs = {{"job", kRankWildcard}}) {
    return {CollectiveOp::kFence, std::move(procs), sequence};
  }
  void Up(NodeId src, uint64_t sequence, std::vector<NodeContribution> parts,
          int status = 0) {
    engine_.OnUp({now_, actions_, &events_}, src,
                 {Id(sequence), status, std::move(parts), {}});
  }
  // Returns the status of the reply; -1000 for no reply, -2000 for several.
  int Status(RequestId request) {
    int status = -1000;
    for (const ReplyClient& reply : All<ReplyClient>(actions_)) {
      if (reply.request == request) {
        status = status == -1000 ? reply.status : -2000;
      }
    }
    return status;
  }

  CoreEvents events_;
  Tree tree_;
  JobTable jobs_;
  ModexStore modex_;
  Collectives engine_;
  Actions actions_;
  TimeNs now_ = 1000;
  RequestId request_ = 0;
};

constexpr int kNone = -1000;

TEST_F(CollectiveTest, TheTopWaitsForItsOwnProcessesAndItsSubtree) {
  const RequestId a = Arrive(Fence(10));
  Up(3, 0, {{3, {}}});
  EXPECT_TRUE(All<ReplyClient>(actions_).empty());
  const RequestId b = Arrive(Fence(11));
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(Status(b), kSuccess);
  const auto down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(down[0].first, 3u);
  // No agent above takes part.
  EXPECT_TRUE(Sent<CollectiveUp>(actions_).empty());
  EXPECT_TRUE(std::holds_alternative<SendPeer>(actions_.front()));
}

TEST_F(CollectiveTest, RanksInTheBarrierAreReleasedByOneAction) {
  engine_.OnLocalFence({now_, actions_, &events_}, {{10, 11}});
  EXPECT_TRUE(All<ReleaseFence>(actions_).empty());
  Up(3, 0, {{3, {}}});
  const auto released = All<ReleaseFence>(actions_);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].status, kSuccess);
  EXPECT_EQ(released[0].clients, (std::vector<ClientId>{10, 11}));
  EXPECT_TRUE(All<ReplyClient>(actions_).empty());
}

// The barrier was closed because the other rank has sent a message.
TEST_F(CollectiveTest, ArrivalsInTheBarrierAndByMessageFormOneFence) {
  Up(3, 0, {{3, {}}});
  engine_.OnLocalFence({now_, actions_, &events_}, {{11}});
  const RequestId a = Arrive(Fence(10));
  EXPECT_EQ(Status(a), kSuccess);
  const auto released = All<ReleaseFence>(actions_);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].clients, std::vector<ClientId>{11});
}

TEST_F(CollectiveTest, RanksInTheBarrierGetTheStatusOfTheFence) {
  engine_.OnLocalFence({now_, actions_, &events_}, {{10, 11}});
  Up(3, 0, {}, kErrTimeout);
  const auto released = All<ReleaseFence>(actions_);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].status, kErrTimeout);
  actions_.clear();
  engine_.OnLocalFence({now_, actions_, &events_}, {{99}});
  ASSERT_EQ(All<ReleaseFence>(actions_).size(), 1u);
  EXPECT_EQ(All<ReleaseFence>(actions_)[0].status, kErrInit);
}

TEST_F(CollectiveTest, ADuplicateContributionIsCountedOnce) {
  Up(3, 0, {{3, {}}});
  Up(3, 0, {{3, {}}});
  const RequestId a = Arrive(Fence(10));
  EXPECT_EQ(Status(a), kNone);
  const RequestId b = Arrive(Fence(11));
  EXPECT_EQ(Status(b), kSuccess);
  Up(3, 0, {{3, {}}});
  EXPECT_EQ(Sent<CollectiveDown>(actions_).size(), 1u);
}

TEST_F(CollectiveTest, ContributionsOfNodesWithoutParticipantsAreIgnored) {
  Up(4, 0, {{4, {}}, {2, {}}});
  Arrive(Fence(10));
  const RequestId b = Arrive(Fence(11));
  EXPECT_EQ(Status(b), kNone);
}

TEST_F(CollectiveTest, FencesOverAWildcardAndOverAListAreDifferentSeries) {
  Arrive(Fence(10));
  const RequestId b = Arrive(Fence(11, {{"job", 0}, {"job", 1}, {"job", 2}}));
  Up(3, 0, {{3, {}}});
  EXPECT_EQ(Status(b), kNone);
}

TEST_F(CollectiveTest, AProcessMayHaveSeveralPendingFences) {
  const Procs local = {{"job", 0}, {"job", 1}};
  const RequestId a0 = Arrive(Fence(10, local));
  const RequestId a1 = Arrive(Fence(10, local));
  const RequestId b0 = Arrive(Fence(11, local));
  EXPECT_EQ(Status(a0), kSuccess);
  EXPECT_EQ(Status(b0), kSuccess);
  EXPECT_EQ(Status(a1), kNone);
  const RequestId b1 = Arrive(Fence(11, local));
  EXPECT_EQ(Status(a1), kSuccess);
  EXPECT_EQ(Status(b1), kSuccess);
}

TEST_F(CollectiveTest, TooManyPendingFencesAreRefused) {
  RequestId last = 0;
  for (uint64_t i = 0; i < kMaxPipelined; ++i) last = Arrive(Fence(10));
  EXPECT_EQ(Status(last), kNone);
  EXPECT_EQ(Status(Arrive(Fence(10))), kErrResourceBusy);
}

TEST_F(CollectiveTest, ASecondProcessOfTheSameRankIsRefused) {
  jobs_.Connect(12, {"job", 0});
  const RequestId a = Arrive(Fence(10));
  const RequestId clone = Arrive(Fence(12));
  EXPECT_EQ(Status(clone), kErrInvalidOperation);
  EXPECT_EQ(Status(a), kNone);
  Up(3, 0, {{3, {}}});
  Arrive(Fence(11));
  EXPECT_EQ(Status(a), kSuccess);
}

TEST_F(CollectiveTest, ASecondConnectOfOneProcessIsRefused) {
  CollectiveArrived in = Fence(10);
  in.op = CollectiveOp::kConnect;
  const RequestId a = Arrive(in);
  in.request = ++request_;
  EXPECT_EQ(Status(Arrive(in)), kErrInvalidOperation);
  EXPECT_EQ(Status(a), kNone);
}

TEST_F(CollectiveTest, MalformedCallsAreRefused) {
  EXPECT_EQ(Status(Arrive(Fence(99))), kErrInit);
  EXPECT_EQ(Status(Arrive(Fence(10, {{"job", 1}}))), kErrBadParam);
  EXPECT_EQ(Status(Arrive(Fence(10, {{"job", 0}, {"job", 7}}))), kErrBadParam);
  EXPECT_EQ(Status(Arrive(Fence(10, {{"job", kRankUndef}}))), kErrBadParam);
  CollectiveArrived other = Fence(10);
  other.op = static_cast<CollectiveOp>(77);
  EXPECT_EQ(Status(Arrive(other)), kErrNotSupported);
}

Bytes Infos(const std::string& key, uint32_t flags) {
  Encoder encoder;
  encoder.PutSize(1);
  encoder.PutString(key);
  encoder.PutUint32(flags);
  encoder.PutUint16(PMIX_BOOL);
  encoder.PutBool(true);
  return Bytes(encoder.Take());
}

TEST_F(CollectiveTest, RequiredUnknownDirectivesAreRefused) {
  CollectiveArrived in = Fence(10);
  in.info = Infos("pmix.something", 1);
  EXPECT_EQ(Status(Arrive(in)), kErrNotSupported);
  in.request = ++request_;
  in.info = Infos("pmix.something", 0);
  EXPECT_EQ(Status(Arrive(in)), kNone);
  CollectiveArrived other = Fence(11);
  other.info = Infos("pmix.collect", 1);
  EXPECT_EQ(Status(Arrive(other)), kNone);
  other.request = ++request_;
  other.info = Bytes("\xff");
  EXPECT_EQ(Status(Arrive(other)), kErrBadParam);
}

TEST_F(CollectiveTest, AFenceWaitsForTheMapOfAnUnknownJob) {
  const Procs procs = {{"job", 0}, {"new", 0}};
  const CollectiveId id{CollectiveOp::kFence, procs, 0};
  const RequestId a = Arrive(Fence(10, procs));
  engine_.OnUp({now_, actions_, &events_}, 3, {id, 0, {{3, {}}}, {}});
  EXPECT_EQ(TakeAll<MapWanted>(&events_).front().nspace, "new");
  EXPECT_EQ(Status(a), kNone);
  jobs_.Add(JobOn("new", {3}));
  engine_.OnJobAdded({now_, actions_, &events_}, "new");
  EXPECT_EQ(Status(a), kSuccess);
  // The job's data can be read from now on.
  EXPECT_EQ(All<RegisterJob>(actions_).size(), 1u);
}

TEST_F(CollectiveTest, TheWaitForAMapEndsAtTheDeadline) {
  CollectiveArrived in = Fence(10, {{"job", 0}, {"new", 0}});
  in.timeout_ms = 5;
  const RequestId a = Arrive(in);
  EXPECT_EQ(engine_.NextDeadline(), now_ + 5'000'000);
  engine_.OnTick({now_ + 5'000'000, actions_, &events_});
  EXPECT_EQ(Status(a), kErrTimeout);
  EXPECT_EQ(engine_.NextDeadline(), kNever);
}

TEST_F(CollectiveTest, TimeThatADebuggerHoldsAParticipantDoesNotCount) {
  constexpr TimeNs kSecond = 1'000'000'000;
  now_ = 0;
  CollectiveArrived in = Fence(10);
  in.timeout_ms = 5000;
  const RequestId a = Arrive(in);
  jobs_.holds().Note(kSecond, "job", {3, 1, true, kSecond});
  engine_.OnTick({5 * kSecond, actions_, &events_});
  EXPECT_EQ(Status(a), kNone);
  EXPECT_EQ(engine_.NextDeadline(), 9 * kSecond);
  EXPECT_EQ(engine_.num_deadlines(), 1u);
  jobs_.holds().Note(6 * kSecond, "job", {3, 2, false, 0});
  engine_.OnTick({9 * kSecond, actions_, &events_});
  EXPECT_EQ(engine_.NextDeadline(), 10 * kSecond);
  engine_.OnTick({10 * kSecond, actions_, &events_});
  EXPECT_EQ(Status(a), kErrTimeout);
  EXPECT_EQ(engine_.NextDeadline(), kNever);
}

TEST_F(CollectiveTest, AFenceFailsIfAJobIsUnknownEverywhere) {
  const RequestId a = Arrive(Fence(10, {{"job", 0}, {"new", 0}}));
  engine_.OnJobUnknown({now_, actions_, &events_}, "new");
  EXPECT_EQ(Status(a), kErrNotFound);
}

TEST_F(CollectiveTest, MessagesThatWaitForAMapAreBounded) {
  for (uint64_t i = 0; i < kMaxDeferred + 2; ++i) {
    engine_.OnUp({now_, actions_, &events_}, 3,
                 {Id(i, {{"new", 0}}), 0, {{3, {}}}, {}});
  }
  EXPECT_EQ(All<LogLine>(actions_).size(), 2u);
}

TEST_F(CollectiveTest, ACollectiveWithoutRoomForItsMessagesFails) {
  for (uint64_t i = 0; i < kMaxDeferred; ++i) {
    engine_.OnUp({now_, actions_, &events_}, 3,
                 {Id(i, {{"other", 0}}), 0, {{3, {}}}, {}});
  }
  const Procs procs = {{"job", 0}, {"new", 0}};
  const RequestId a = Arrive(Fence(10, procs));
  engine_.OnUp({now_, actions_, &events_}, 3, {Id(0, procs), 0, {{3, {}}}, {}});
  EXPECT_EQ(Status(a), kNone);
  jobs_.Add(JobOn("new", {3}));
  engine_.OnJobAdded({now_, actions_, &events_}, "new");
  EXPECT_EQ(Status(a), kErrOutOfResource);
  const auto down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(down[0].first, 3u);
  EXPECT_EQ(down[0].second.status, kErrOutOfResource);
}

TEST_F(CollectiveTest, TheEndOfAJobEndsItsCollectives) {
  const RequestId a = Arrive(Fence(10));
  jobs_.Remove("job");
  engine_.OnJobRemoved({now_, actions_, &events_}, {"job"});
  EXPECT_EQ(Status(a), kErrJobTerminated);
}

TEST_F(CollectiveTest, AClientThatIsGoneGetsNoReply) {
  const RequestId a = Arrive(Fence(10));
  engine_.OnClientGone({now_, actions_, &events_}, 10);
  Arrive(Fence(11));
  Up(3, 0, {{3, {}}});
  // The arrival still counts, although the client's connection has ended.
  EXPECT_EQ(Status(a), kNone);
  EXPECT_EQ(Sent<CollectiveDown>(actions_).size(), 1u);
}

std::string Kval(const std::string& key) {
  Encoder encoder;
  encoder.PutString(key);
  encoder.PutUint16(PMIX_BOOL);
  encoder.PutBool(true);
  return encoder.Take();
}

TEST_F(CollectiveTest, DataIsPublishedBetweenReleaseAndReplies) {
  modex_.Commit(0, {"job", 0}, {{Scope::kGlobal, Bytes(Kval("mine"))}});
  CollectiveArrived in = Fence(10);
  in.collect_data = true;
  Arrive(in);
  Arrive(Fence(11));
  actions_.clear();
  ModexWriter writer;
  writer.Add({{"job", 2}, 0, 1, Bytes(Kval("theirs"))});
  Up(3, 0, {{3, writer.Take()}});
  ASSERT_EQ(actions_.size(), 4u);
  const auto down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  // A contribution is not sent back to the neighbour that brought it.
  ASSERT_EQ(down[0].second.contributions.size(), 1u);
  EXPECT_EQ(down[0].second.contributions[0].node, 1u);
  const auto* published = std::get_if<PublishRank>(&actions_[1]);
  ASSERT_NE(published, nullptr);
  EXPECT_EQ(published->proc, (ProcId{"job", 2}));
  EXPECT_EQ(published->visible.view(), Kval("theirs"));
}

// Returns the data of rank 0 that agent 1 sends with the release of a
// collecting fence; no value if the rank is left out.
std::optional<RankUpdate> SentOfRank0(const Actions& actions) {
  const auto down = Sent<CollectiveDown>(actions);
  EXPECT_EQ(down.size(), 1u);
  if (down.empty()) return std::nullopt;
  for (const NodeContribution& part : down[0].second.contributions) {
    ModexReader reader(part.data);
    RankUpdate update;
    while (reader.Next(&update)) {
      if (update.proc.rank == 0) return update;
    }
  }
  return std::nullopt;
}

TEST_F(CollectiveTest, OnlyChangedDataIsSentAgain) {
  const auto fence = [&](uint64_t sequence, int status) {
    actions_.clear();
    for (const ClientId client : {10, 11}) {
      CollectiveArrived in = Fence(client);
      in.collect_data = true;
      Arrive(in);
    }
    Up(3, sequence, {{3, {}}}, status);
  };
  const auto commit = [&](TimeNs now, const std::string& key) {
    modex_.Commit(now, {"job", 0}, {{Scope::kGlobal, Bytes(Kval(key))}});
  };
  commit(5, "a");
  fence(0, kSuccess);
  EXPECT_EQ(SentOfRank0(actions_)->base, 0u);
  fence(1, kSuccess);
  EXPECT_FALSE(SentOfRank0(actions_));
  commit(6, "b");
  fence(2, kErrTimeout);
  commit(7, "c");
  // The data of the failed fence may have reached no node.
  fence(3, kSuccess);
  const std::optional<RankUpdate> update = SentOfRank0(actions_);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->base, 5u);
  EXPECT_EQ(update->version, 7u);
  EXPECT_EQ(update->kvals.view(), Kval("b") + Kval("c"));
  fence(4, kSuccess);
  EXPECT_FALSE(SentOfRank0(actions_));
}

TEST_F(CollectiveTest, ANodeMayOnlySendDataOfItsOwnRanks) {
  Arrive(Fence(10));
  Arrive(Fence(11));
  ModexWriter writer;
  writer.Add({{"job", 0}, 0, 1, Bytes(Kval("forged"))});
  writer.Add({{"job", 9}, 0, 1, Bytes(Kval("forged"))});
  writer.Add({{"none", 0}, 0, 1, Bytes(Kval("forged"))});
  Up(3, 0, {{3, writer.Take()}});
  EXPECT_TRUE(All<PublishRank>(actions_).empty());
}

TEST_F(CollectiveTest, MalformedDataIsLoggedAndDoesNotFailTheFence) {
  const RequestId a = Arrive(Fence(10));
  Arrive(Fence(11));
  Up(3, 0, {{3, Bytes("\xff\xff")}});
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(All<LogLine>(actions_).size(), 1u);
}

TEST_F(CollectiveTest, AFailureReportedByAChildFailsTheFenceAtOnce) {
  const RequestId a = Arrive(Fence(10));
  engine_.OnUp({now_, actions_, &events_}, 3,
               {Id(0), kErrProcAborted, {}, {{"job", 2}}});
  EXPECT_EQ(Status(a), kErrProcAborted);
  // The agent that reported the failure knows of it. The late local participant
  // gets the status when it arrives.
  EXPECT_TRUE(Sent<CollectiveDown>(actions_).empty());
  EXPECT_EQ(Status(Arrive(Fence(11))), kErrProcAborted);
  ASSERT_EQ(All<LogLine>(actions_).size(), 1u);
  EXPECT_NE(All<LogLine>(actions_)[0].text.find("missing job:2"),
            std::string::npos);
  EXPECT_EQ(All<LogLine>(actions_)[0].uid, jobs_.Find("job")->spec->uid);
}

TEST_F(CollectiveTest, AReleaseIsRepeatedToAChildOfALostParent) {
  Arrive(Fence(10));
  Arrive(Fence(11));
  Up(3, 0, {{3, {}}});
  actions_.clear();
  tree_.SetAlive(3, false);
  engine_.OnTreeChanged({now_, actions_, &events_});
  // Agent 4 contributes like an agent that has lost its parent.
  Up(4, 0, {{3, {}}});
  ASSERT_EQ(Sent<CollectiveDown>(actions_).size(), 1u);
  EXPECT_EQ(Sent<CollectiveDown>(actions_)[0].first, 4u);
  Up(4, 0, {{3, {}}});
  EXPECT_EQ(Sent<CollectiveDown>(actions_).size(), 1u);
}

TEST_F(CollectiveTest, DescribesTheMissingProcesses) {
  Arrive(Fence(10));
  std::vector<Waiting> waiting;
  engine_.Describe(now_ + 7'000'000, "", &waiting);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].operation, "fence #0 of job:*");
  EXPECT_EQ(waiting[0].age_ms, 7u);
  EXPECT_EQ(waiting[0].missing,
            (std::vector<MissingProc>{{{"job", 1}, 1, true},
                                      {{"job", 2}, 3, false}}));
  waiting.clear();
  engine_.Describe(now_, "other", &waiting);
  EXPECT_TRUE(waiting.empty());
}

// A refused list leaves no series, whatever it names.
TEST_F(CollectiveTest, AFenceWithARefusedListLeavesNoSeries) {
  Procs strangers;
  for (Rank rank = 0; rank < 1000; ++rank) {
    strangers.push_back({"job", 1000 + rank});
  }
  EXPECT_EQ(Status(Arrive(Fence(10, strangers))), kErrBadParam);
  EXPECT_EQ(Status(Arrive(Fence(10, {{"job", 1}, {"job", 2}}))), kErrBadParam);
  EXPECT_EQ(engine_.num_series(), 0u);
}

TEST_F(CollectiveTest, AListWithARankBeyondTheMapLeavesNoSeries) {
  const RequestId a = Arrive(Fence(10, {{"job", 0}, {"new", 5}}));
  EXPECT_EQ(engine_.num_series(), 1u);
  jobs_.Add(JobOn("new", {3}));
  engine_.OnJobAdded({now_, actions_, &events_}, "new");
  EXPECT_EQ(Status(a), kErrBadParam);
  EXPECT_EQ(engine_.num_series(), 0u);
}

TEST_F(CollectiveTest, DeferredArrivalsAreDroppedWithTheirClient) {
  CollectiveArrived in = Fence(10, {{"job", 0}, {"new", 0}});
  in.timeout_ms = 5;
  Arrive(in);
  engine_.OnClientGone({now_, actions_, &events_}, 10);
  EXPECT_EQ(engine_.num_series(), 0u);
  EXPECT_EQ(engine_.num_deadlines(), 0u);
}

TEST_F(CollectiveTest, MapsOfManyJobsAreRequestedInBatches) {
  Procs procs = {{"job", 0}};
  for (int i = 0; i < 1000; ++i) procs.push_back({std::to_string(i), 0});
  const RequestId a = Arrive(Fence(10, procs));
  const auto first = TakeAll<MapWanted>(&events_);
  EXPECT_EQ(first.size(), kMaxMapsAtOnce);
  engine_.OnJobUnknown({now_, actions_, &events_}, first[0].nspace);
  EXPECT_EQ(Status(a), kErrNotFound);
  for (size_t i = 1; i < first.size(); ++i) {
    engine_.OnJobUnknown({now_, actions_, &events_}, first[i].nspace);
  }
  EXPECT_TRUE(events_.empty());
  EXPECT_EQ(engine_.num_series(), 0u);
}

TEST_F(CollectiveTest, AFenceOfManyJobsEndsWhenAllMapsHaveArrived) {
  Procs procs = {{"job", 0}};
  for (size_t i = 0; i < 2 * kMaxMapsAtOnce; ++i) {
    procs.push_back({"n" + std::to_string(i), 0});
  }
  const RequestId a = Arrive(Fence(10, procs));
  for (size_t i = 0; i < 2 * kMaxMapsAtOnce; ++i) {
    const std::string nspace = "n" + std::to_string(i);
    jobs_.Add(JobOn(nspace, {1}));
    jobs_.Connect(100 + i, {nspace, 0});
    engine_.OnJobAdded({now_, actions_, &events_}, nspace);
  }
  EXPECT_EQ(Status(a), kNone);
  for (size_t i = 0; i < 2 * kMaxMapsAtOnce; ++i) Arrive(Fence(100 + i, procs));
  EXPECT_EQ(Status(a), kSuccess);
}

// After the loss of a node, a fence of other ranks checks only the ranks that
// may be gone, not all ranks.
TEST(CollectiveGrowth, AFenceAfterALossChecksOnlySuspects) {
  const double growth = GrowthOf(500, [](size_t ranks) {
    Tree tree(3, 2);
    JobTable jobs(0);
    ModexStore modex;
    Collectives engine(0, tree, jobs, modex);
    Actions actions;
    std::vector<NodeId> agents(ranks, 1);
    agents[0] = 0;
    jobs.Add(JobOn("job", agents));
    jobs.Connect(10, {"job", 0});
    tree.SetAlive(2, false);
    for (size_t i = 0; i < ranks; ++i) {
      CollectiveArrived in;
      in.client = 10;
      in.request = 1;
      engine.OnArrived({0, actions}, in);
      const CollectiveId id{CollectiveOp::kFence, {{"job", kRankWildcard}}, i};
      engine.OnUp({0, actions}, 1, {id, 0, {{1, {}}}, {}});
    }
    EXPECT_EQ(All<ReplyClient>(actions).size(), ranks);
  });
  EXPECT_LT(growth, kAlmostLinear);
}

// A restarted child requests a failure from its parent, because its predecessor
// may have contributed, and the answer to the predecessor may be lost.
TEST_F(CollectiveTest, AFailedConnectIsAnsweredAgainAfterTheChildsRestart) {
  for (const CollectiveOp op : {CollectiveOp::kFence, CollectiveOp::kConnect}) {
    CollectiveUp failure{Id(0), kErrProcAborted, {}, {{"job", 2}}};
    failure.id.op = op;
    engine_.OnUp({now_, actions_, &events_}, 3, failure);
    engine_.OnNodeRestarted({now_, actions_, &events_}, 3);
    for (const bool again : {false, true}) {
      actions_.clear();
      engine_.OnUp({now_, actions_, &events_}, 3, failure);
      const auto downs = Sent<CollectiveDown>(actions_);
      const bool waits = op == CollectiveOp::kConnect && !again;
      ASSERT_EQ(downs.size(), waits ? 1u : 0u);
      for (const auto& [node, down] : downs) {
        EXPECT_EQ(down.status, kErrProcAborted);
      }
    }
  }
}

}  // namespace
}  // namespace canopy::core
