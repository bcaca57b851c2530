#include "server/core/modex/gets.h"

#include <gtest/gtest.h>

#include "common/codec/encoder.h"
#include "common/growth_testing.h"
#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

constexpr TimeNs kMs = 1'000'000;

std::string Kval(const std::string& key) {
  Encoder encoder;
  encoder.PutString(key);
  encoder.PutUint16(PMIX_BOOL);
  encoder.PutBool(true);
  return encoder.Take();
}

// Agent 0 with rank 0; rank 1 is on agent 1. tests/sim covers the network; this
// file tests malformed and unexpected messages of peers.
class GetsTest : public testing::Test {
 protected:
  GetsTest()
      : tree_(3, 2),
        jobs_(0),
        modex_(&events_),
        gets_(0, tree_, jobs_, modex_) {
    jobs_.Add(JobOn("job", {0, 1}));
    jobs_.Register("job", &actions_);
    jobs_.Connect(10, {"job", 0});
    actions_.clear();
  }

  uint64_t Get(const std::string& key, uint32_t timeout_ms = 0) {
    GetArrived in;
    in.client = 10;
    in.request = 5;
    in.target = {"job", 1};
    in.key = key;
    in.timeout_ms = timeout_ms;
    gets_.OnGet({now_, actions_}, in);
    const auto sent = Sent<DmodexRequest>(actions_);
    return sent.empty() ? 0 : sent.back().second.request;
  }
  // Propagates changes as AgentCore does after each step.
  void Propagate() {
    for (const DataChange& change : TakeAll<DataChange>(&events_)) {
      gets_.OnData({now_, actions_}, change);
    }
  }
  std::vector<ReplyClient> Replies() { return All<ReplyClient>(actions_); }

  CoreEvents events_;
  Tree tree_;
  JobTable jobs_;
  ModexStore modex_;
  Gets gets_;
  Actions actions_;
  TimeNs now_ = 0;
};

// Gets of another user's job data are refused, and so are gets of data that the
// ranks of such a job have put.
TEST_F(GetsTest, JobsOfOtherUsersAreNotRead) {
  auto theirs = std::make_shared<JobSpec>(*JobOn("theirs", {0}));
  theirs->uid = jobs_.Find("job")->spec->uid + 1;
  jobs_.Add(theirs);
  const auto get = [&](Rank rank, const std::string& key) {
    GetArrived in;
    in.client = 10;
    in.target = {"theirs", rank};
    in.key = key;
    actions_.clear();
    gets_.OnGet({now_, actions_}, in);
    return Replies().empty() ? kSuccess + 1 : Replies()[0].status;
  };
  EXPECT_EQ(get(kRankWildcard, "pmix.job.size"), kErrNoPermissions);
  EXPECT_EQ(get(0, "k"), kErrNoPermissions);
  EXPECT_EQ(gets_.num_held(), 0u);
  jobs_.NoteMet({{"job", 0}, {"theirs", 0}});
  EXPECT_EQ(get(kRankWildcard, "pmix.job.size"), kSuccess);
}

// The job's user is known only when its map arrives.
TEST_F(GetsTest, AGetOfAnotherUsersJobFailsWhenItsMapArrives) {
  GetArrived in;
  in.client = 10;
  in.target = {"theirs", 0};
  in.key = "k";
  gets_.OnGet({now_, actions_}, in);
  EXPECT_EQ(gets_.num_held(), 1u);
  auto theirs = std::make_shared<JobSpec>(*JobOn("theirs", {1}));
  theirs->uid = jobs_.Find("job")->spec->uid + 1;
  jobs_.Add(theirs);
  gets_.OnJobAdded({now_, actions_}, "theirs");
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kErrNoPermissions);
  EXPECT_TRUE(Sent<DmodexRequest>(actions_).empty());
}

TEST_F(GetsTest, ARequestHasItsReaderAndTheReadersUser) {
  Get("k");
  const DmodexRequest request = Sent<DmodexRequest>(actions_).at(0).second;
  EXPECT_EQ(request.reader, "job");
  EXPECT_TRUE(request.has_uid);
  EXPECT_EQ(request.uid, jobs_.Find("job")->spec->uid);
}

TEST_F(GetsTest, AToolThatSeesAllJobsHasNoUserInItsRequests) {
  jobs_.ConnectTool(11, {"tool", 0}, {0, 0});
  jobs_.ConnectTool(12, {"theirs", 0}, {4711, 4711}, /*of_other_user=*/true);
  GetArrived in;
  in.target = {"job", 1};
  in.key = "k";
  for (const ClientId client : {11, 12}) {
    in.client = client;
    gets_.OnGet({now_, actions_}, in);
  }
  const auto sent = Sent<DmodexRequest>(actions_);
  ASSERT_EQ(sent.size(), 1u) << "the tool of another user is refused here";
  EXPECT_EQ(sent[0].second.reader, "tool");
  EXPECT_FALSE(sent[0].second.has_uid);
}

// The target's agent decides for each reader, and may refuse one of them.
TEST_F(GetsTest, GetsOfTwoJobsAreRequestedAndAnsweredApart) {
  jobs_.Add(JobOn("other", {0}));
  jobs_.Connect(11, {"other", 0});
  const uint64_t first = Get("k");
  GetArrived in;
  in.client = 11;
  in.target = {"job", 1};
  in.key = "k";
  gets_.OnGet({now_, actions_}, in);
  ASSERT_EQ(Sent<DmodexRequest>(actions_).size(), 2u);
  EXPECT_EQ(Sent<DmodexRequest>(actions_)[1].second.reader, "other");
  gets_.OnReply({now_, actions_}, 1,
                {first, kErrNoPermissions, {"job", 1}, {}});
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].client, 10u);
  EXPECT_EQ(Replies()[0].status, kErrNoPermissions);
  EXPECT_EQ(gets_.num_held(), 1u);
}

// The agent with the data checks the user that another agent claims.
TEST_F(GetsTest, RequestsForReadersOfOtherUsersAreRefused) {
  const uint32_t user = jobs_.Find("job")->spec->uid;
  auto theirs = std::make_shared<JobSpec>(*JobOn("theirs", {1}));
  theirs->uid = user + 1;
  jobs_.Add(theirs);
  const auto get = [&](const std::string& reader, std::optional<uint32_t> uid) {
    DmodexRequest request{4, {"job", 0}, "", 0, 0, reader};
    request.has_uid = uid.has_value();
    request.uid = uid.value_or(0);
    actions_.clear();
    gets_.OnRequest({now_, actions_}, 1, request);
    return Sent<DmodexReply>(actions_).at(0).second.status;
  };
  EXPECT_EQ(get("unknown", user), kErrNotFound) << "no data yet, but allowed";
  EXPECT_EQ(get("unknown", user + 1), kErrNoPermissions);
  EXPECT_EQ(get("theirs", user + 1), kErrNoPermissions);
  EXPECT_EQ(get("theirs", user), kErrNoPermissions) << "a false claim";
  EXPECT_EQ(get("theirs", std::nullopt), kErrNoPermissions);
  EXPECT_EQ(get("tool", std::nullopt), kErrNotFound);
  jobs_.NoteMet({{"job", 0}, {"theirs", 0}});
  EXPECT_EQ(get("theirs", user + 1), kErrNotFound);
  EXPECT_EQ(get("theirs", user), kErrNoPermissions) << "still a false claim";
}

TEST_F(GetsTest, ARefusedRequestForAKeyDoesNotWait) {
  DmodexRequest request{4, {"job", 0}, "k", 0, 0, "theirs"};
  request.has_uid = true;
  request.uid = jobs_.Find("job")->spec->uid + 1;
  gets_.OnRequest({now_, actions_}, 1, request);
  EXPECT_EQ(Sent<DmodexReply>(actions_).at(0).second.status, kErrNoPermissions);
  EXPECT_EQ(gets_.num_held(), 0u);
}

TEST_F(GetsTest, OnlyTheTargetsAgentMayAnswer) {
  const uint64_t number = Get("k");
  gets_.OnReply({now_, actions_}, 2,
                {number, kSuccess, {"job", 1}, Bytes(Kval("k"))});
  gets_.OnReply({now_, actions_}, 1,
                {number + 1, kSuccess, {"job", 1}, Bytes(Kval("k"))});
  EXPECT_TRUE(Replies().empty());
  // A wrong target in the reply is ignored; the request decides.
  gets_.OnReply({now_, actions_}, 1,
                {number, kSuccess, {"job", 0}, Bytes(Kval("k"))});
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kSuccess);
  EXPECT_EQ(All<PublishRank>(actions_)[0].proc, (ProcId{"job", 1}));
}

// Rank 0 is on this node.
TEST_F(GetsTest, AGetOfALocalRankRequestsItsCommits) {
  GetArrived in;
  in.client = 10;
  in.target = {"job", 0};
  in.key = "k";
  gets_.OnGet({now_, actions_}, in);
  in.target.rank = kRankUndef;
  gets_.OnGet({now_, actions_}, in);
  auto awaited = All<AwaitCommit>(actions_);
  ASSERT_EQ(awaited.size(), 2u);
  EXPECT_EQ(awaited[0].proc, (ProcId{"job", 0}));
  EXPECT_EQ(awaited[1].proc, (ProcId{"job", kRankUndef}));
  // The commits are requested again after each commit, as long as a get waits.
  actions_.clear();
  modex_.Commit(now_, {"job", 0}, {{Scope::kGlobal, Bytes(Kval("other"))}});
  Propagate();
  awaited = All<AwaitCommit>(actions_);
  ASSERT_EQ(awaited.size(), 1u);
  EXPECT_EQ(awaited[0].proc, (ProcId{"job", 0}));
  actions_.clear();
  modex_.Commit(now_, {"job", 0}, {{Scope::kGlobal, Bytes(Kval("k"))}});
  Propagate();
  EXPECT_EQ(Replies().size(), 2u);
  EXPECT_TRUE(All<AwaitCommit>(actions_).empty());
}

TEST_F(GetsTest, ARemoteGetRequestsTheRanksCommits) {
  gets_.OnRequest({now_, actions_}, 1, {4, {"job", 0}, "k", 0, 0});
  ASSERT_EQ(All<AwaitCommit>(actions_).size(), 1u);
  EXPECT_EQ(All<AwaitCommit>(actions_)[0].proc, (ProcId{"job", 0}));
}

TEST_F(GetsTest, AGetOfARemoteRankAwaitsNoLocalCommit) {
  Get("k");
  EXPECT_TRUE(All<AwaitCommit>(actions_).empty());
}

std::string PidKval(int pid) {
  Encoder encoder;
  encoder.PutString("pmix.ppid");
  encoder.PutUint16(PMIX_PID);
  encoder.PutPid(pid);
  return encoder.Take();
}

TEST_F(GetsTest, ARemotePidIsForwardedAndNotStored) {
  for (int round = 0; round < 2; ++round) {
    actions_.clear();
    const uint64_t number = Get("pmix.ppid");
    ASSERT_NE(number, 0u) << round;
    gets_.OnReply({now_, actions_}, 1,
                  {number, kSuccess, {"job", 1}, Bytes(PidKval(7))});
    ASSERT_EQ(Replies().size(), 1u);
    EXPECT_EQ(Replies()[0].status, kSuccess);
    EXPECT_EQ(Replies()[0].payload.view(), PidKval(7));
    EXPECT_TRUE(All<PublishRank>(actions_).empty());
  }
  EXPECT_EQ(gets_.num_held(), 0u);
}

TEST_F(GetsTest, AGetOfAPidFailsIfTheAnswerLacksThePid) {
  const uint64_t number = Get("pmix.ppid");
  gets_.OnReply({now_, actions_}, 1,
                {number, kSuccess, {"job", 1}, Bytes(Kval("k"))});
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kErrNotFound);
}

TEST_F(GetsTest, APeerGetsThePidWhenTheProcessHasStarted) {
  gets_.OnRequest({now_, actions_}, 1, {4, {"job", 0}, "pmix.ppid", 0, 0});
  EXPECT_TRUE(Sent<DmodexReply>(actions_).empty());
  jobs_.NoteStarted({"job", 0}, 7);
  gets_.OnProcess({now_, actions_}, {"job", 0});
  const auto sent = Sent<DmodexReply>(actions_);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].second.status, kSuccess);
  EXPECT_EQ(sent[0].second.data.view(), PidKval(7));
  // One rank is not on this node, and one does not exist.
  gets_.OnRequest({now_, actions_}, 1, {5, {"job", 1}, "pmix.ppid", 0, 0});
  gets_.OnRequest({now_, actions_}, 1,
                  {6, {"job", 77}, "pmix.exit.code", 0, 0});
  EXPECT_EQ(Sent<DmodexReply>(actions_).size(), 3u);
  EXPECT_EQ(Sent<DmodexReply>(actions_)[2].second.status, kErrNotFound);
}

TEST_F(GetsTest, AGetFailsIfTheAnswerLacksTheKey) {
  const uint64_t number = Get("k");
  gets_.OnReply({now_, actions_}, 1,
                {number, kSuccess, {"job", 1}, Bytes(Kval("x"))});
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kErrNotFound);
}

TEST_F(GetsTest, AGetFailsIfTheAnswerIsMalformed) {
  const uint64_t number = Get("k");
  gets_.OnReply({now_, actions_}, 1,
                {number, kSuccess, {"job", 1}, Bytes("\xff")});
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kErrNotFound);
  EXPECT_TRUE(All<PublishRank>(actions_).empty());
}

TEST_F(GetsTest, AGetReturnsTheErrorOfTheTargetsAgent) {
  const uint64_t number = Get("k");
  gets_.OnReply({now_, actions_}, 1,
                {number, kErrNoPermissions, {"job", 1}, {}});
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kErrNoPermissions);
}

TEST_F(GetsTest, DataThatArrivesAfterTheTimeoutIsStored) {
  const uint64_t number = Get("k", 5);
  gets_.OnTick({5 * kMs, actions_});
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kErrTimeout);
  gets_.OnReply({6 * kMs, actions_}, 1,
                {number, kSuccess, {"job", 1}, Bytes(Kval("k"))});
  EXPECT_EQ(All<PublishRank>(actions_).size(), 1u);
  EXPECT_EQ(Replies().size(), 1u);
}

TEST_F(GetsTest, TimeThatADebuggerHoldsTheTargetDoesNotCount) {
  const uint64_t number = Get("k", 5000);
  jobs_.holds().Note(1000 * kMs, "job", {1, 1, true, 1000 * kMs});
  gets_.OnTick({5000 * kMs, actions_});
  EXPECT_TRUE(Replies().empty());
  EXPECT_EQ(gets_.NextDeadline(), 9000 * kMs);
  // The target's agent may have given up already, so the request is sent once
  // more.
  gets_.OnReply({5001 * kMs, actions_}, 1,
                {number, kErrTimeout, {"job", 1}, {}});
  EXPECT_EQ(Sent<DmodexRequest>(actions_).size(), 2u);
  jobs_.holds().Note(6000 * kMs, "job", {1, 2, false, 0});
  gets_.OnTick({9000 * kMs, actions_});
  EXPECT_EQ(gets_.NextDeadline(), 10000 * kMs);
  gets_.OnTick({10000 * kMs, actions_});
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kErrTimeout);
}

TEST_F(GetsTest, TheRequestContainsTheTimeoutOfTheGet) {
  Get("k", 5);
  EXPECT_GE(Sent<DmodexRequest>(actions_)[0].second.timeout_ms, 5u);
  Get("forever");
  EXPECT_EQ(Sent<DmodexRequest>(actions_)[1].second.timeout_ms, 0u);
}

TEST_F(GetsTest, ARequestForAProcessOfAnotherNodeFails) {
  gets_.OnRequest({now_, actions_}, 1, {1, {"job", 1}, "k", 0});
  gets_.OnRequest({now_, actions_}, 1, {2, {"none", 0}, "k", 0});
  gets_.OnRequest({now_, actions_}, 1, {3, {"job", 77}, "k", 0});
  const auto replies = Sent<DmodexReply>(actions_);
  ASSERT_EQ(replies.size(), 3u);
  for (const auto& [to, reply] : replies) {
    EXPECT_EQ(to, 1u);
    EXPECT_EQ(reply.status, kErrNotFound);
  }
}

TEST_F(GetsTest, ARequestIsHeldUntilItsTimeout) {
  gets_.OnRequest({now_, actions_}, 1, {1, {"job", 0}, "k", 20});
  EXPECT_TRUE(Sent<DmodexReply>(actions_).empty());
  EXPECT_EQ(gets_.NextDeadline(), 20 * kMs);
  gets_.OnTick({20 * kMs, actions_});
  ASSERT_EQ(Sent<DmodexReply>(actions_).size(), 1u);
  EXPECT_EQ(Sent<DmodexReply>(actions_)[0].second.status, kErrTimeout);
  EXPECT_EQ(gets_.NextDeadline(), kNever);
}

TEST_F(GetsTest, AFetchRequestsOnlyChangesSinceTheKnownVersion) {
  const uint64_t first = Get("k");
  EXPECT_EQ(Sent<DmodexRequest>(actions_)[0].second.known, 0u);
  actions_.clear();
  gets_.OnReply({now_, actions_}, 1,
                {first, kSuccess, {"job", 1}, Bytes(Kval("k")), 7});
  ASSERT_EQ(All<PublishRank>(actions_).size(), 1u);
  EXPECT_FALSE(All<PublishRank>(actions_)[0].only_changes);
  actions_.clear();
  const uint64_t second = Get("l");
  EXPECT_EQ(Sent<DmodexRequest>(actions_)[0].second.known, 7u);
  actions_.clear();
  gets_.OnReply({now_, actions_}, 1,
                {second, kSuccess, {"job", 1}, Bytes(Kval("l")), 9, 7});
  const auto published = All<PublishRank>(actions_);
  ASSERT_EQ(published.size(), 1u);
  EXPECT_TRUE(published[0].only_changes);
  EXPECT_EQ(published[0].visible.view(), Kval("l"));
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kSuccess);
  EXPECT_NE(Replies()[0].payload.view().find(Kval("k")), std::string::npos);
}

TEST_F(GetsTest, AnAnswerOmitsDataThatTheRequesterHas) {
  const ProcId me = {"job", 0};
  modex_.Commit(5, me, {{Scope::kGlobal, Bytes(Kval("k"))}});
  const uint64_t version = modex_.UpdateSince(me, 0).version;
  modex_.Commit(9, me, {{Scope::kGlobal, Bytes(Kval("l"))}});
  gets_.OnRequest({now_, actions_}, 1, {1, me, "l", 0, version});
  gets_.OnRequest({now_, actions_}, 1, {2, me, "l", 0, 0});
  const auto replies = Sent<DmodexReply>(actions_);
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].second.base, version);
  EXPECT_EQ(replies[0].second.data.view(), Kval("l"));
  EXPECT_EQ(replies[1].second.base, 0u);
  EXPECT_EQ(replies[1].second.data.size(), Kval("k").size() + Kval("l").size());
}

// The request or its answer may have been on its way through that node.
TEST_F(GetsTest, AFetchIsRepeatedWhenANodeIsLost) {
  const uint64_t number = Get("k");
  actions_.clear();
  tree_.SetAlive(2, false);
  gets_.OnNodeLost({now_, actions_}, {2, false, ""});
  const auto again = Sent<DmodexRequest>(actions_);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].first, 1u);
  EXPECT_EQ(again[0].second.request, number);
  for (int answers = 0; answers < 2; ++answers) {
    gets_.OnReply({now_, actions_}, 1,
                  {number, kSuccess, {"job", 1}, Bytes(Kval("k"))});
  }
  EXPECT_EQ(Replies().size(), 1u);
}

TEST_F(GetsTest, AClientThatIsGoneGetsNoAnswer) {
  const uint64_t number = Get("k");
  gets_.OnClientGone({now_, actions_}, 10);
  gets_.OnReply({now_, actions_}, 1,
                {number, kSuccess, {"job", 1}, Bytes(Kval("k"))});
  EXPECT_TRUE(Replies().empty());
  std::vector<Waiting> waiting;
  gets_.Describe(now_, "", &waiting);
  EXPECT_TRUE(waiting.empty());
}

TEST_F(GetsTest, UnknownClientsAreRefused) {
  GetArrived in;
  in.client = 99;
  gets_.OnGet({now_, actions_}, in);
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kErrInit);
}

TEST_F(GetsTest, OneFetchAnswersGetsOfSeveralKeys) {
  const uint64_t first = Get("k");
  Get("l");
  gets_.OnReply({now_, actions_}, 1,
                {first, kSuccess, {"job", 1}, Bytes(Kval("k") + Kval("l"))});
  Propagate();
  EXPECT_EQ(Replies().size(), 2u);
}

TEST_F(GetsTest, ACommitOutsideTheScopeAnswersTheGetOfAnotherNode) {
  gets_.OnRequest({now_, actions_}, 1, {4, {"job", 0}, "l", 0, 0});
  gets_.OnRequest({now_, actions_}, 1, {5, {"job", 0}, "r", 0, 0});
  modex_.Commit(
      now_, {"job", 0},
      {{Scope::kLocal, Bytes(Kval("l"))}, {Scope::kRemote, Bytes(Kval("r"))}});
  Propagate();
  const auto replies = Sent<DmodexReply>(actions_);
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].second.status, kErrExistsOutsideScope);
  EXPECT_EQ(replies[1].second.status, kSuccess);
}

// The limit holds whatever numbers the requests have.
TEST_F(GetsTest, HeldGetsOfAClientAreLimited) {
  GetArrived in;
  in.client = 10;
  in.request = 5;
  in.target = {"job", kRankUndef};
  in.key = "k";
  for (size_t i = 0; i < kMaxHeldGetsOfClient; ++i) {
    gets_.OnGet({now_, actions_}, in);
  }
  EXPECT_TRUE(Replies().empty());
  gets_.OnGet({now_, actions_}, in);
  ASSERT_EQ(Replies().size(), 1u);
  EXPECT_EQ(Replies()[0].status, kErrOutOfResource);
  jobs_.Connect(11, {"job", 0});
  in.client = 11;
  gets_.OnGet({now_, actions_}, in);
  EXPECT_EQ(Replies().size(), 1u);
}

class GetsGrowth : public testing::Test {
 protected:
  // An agent with rank 0 of a job whose other ranks are on agent 1.
  struct Agent {
    explicit Agent(size_t ranks)
        : tree(2, 2), jobs(0), modex(&events), gets(0, tree, jobs, modex) {
      std::vector<NodeId> agents(ranks, 1);
      agents[0] = 0;
      jobs.Add(JobOn("job", agents));
      jobs.Connect(10, {"job", 0});
    }
    void Get(Rank rank, const std::string& key) {
      GetArrived in;
      in.client = 10;
      in.request = 5;
      in.target = {"job", rank};
      in.key = key;
      gets.OnGet({0, actions}, in);
    }
    void Propagate() {
      for (const DataChange& change : TakeAll<DataChange>(&events)) {
        gets.OnData({0, actions}, change);
      }
    }

    CoreEvents events;
    Tree tree;
    JobTable jobs;
    ModexStore modex;
    Gets gets;
    Actions actions;
  };
};

// One rank after the other commits a key for which no get waits.
TEST_F(GetsGrowth, TheCostOfAGetOfAnUndefinedRankIsLinear) {
  const double growth = GrowthOf(500, [](size_t ranks) {
    Agent agent(ranks);
    agent.Get(kRankUndef, "none");
    for (Rank rank = 1; rank < ranks; ++rank) {
      agent.modex.StoreRemote({{"job", rank}, 0, 3, Bytes(Kval("k"))});
      agent.Propagate();
    }
    EXPECT_EQ(agent.gets.num_held(), 1u);
  });
  EXPECT_LT(growth, kAlmostLinear);
}

// Many gets wait for data of one rank, and the data changes many times.
TEST_F(GetsGrowth, AChangeChecksOnlyGetsOfItsKeys) {
  const double growth = GrowthOf(200, [](size_t n) {
    Agent agent(2);
    for (size_t i = 0; i < n; ++i) agent.Get(0, "none." + std::to_string(i));
    for (size_t i = 0; i < n; ++i) {
      agent.modex.Commit(0, {"job", 0}, {{Scope::kGlobal, Bytes(Kval("k"))}});
      agent.Propagate();
    }
    EXPECT_EQ(agent.gets.num_held(), n);
  });
  EXPECT_LT(growth, kAlmostLinear);
}

}  // namespace
}  // namespace canopy::core
