// Tests of constructs and destructs of process groups, at one agent.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/growth_testing.h"
#include "common/status.h"
#include "server/core/collective/collective.h"
#include "server/core/collective/collective_group_testing.h"
#include "server/core/collective/group_directives.h"
#include "server/core/collective/group_record.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

TEST_F(CollectiveGroupTest, AllNotationsOfItsMembersDenoteOneGroup) {
  const RequestId a = Construct(10, kWhole);
  const RequestId b = Construct(11, {{"job", 2}, {"job", 1}, {"job", 0}});
  EXPECT_EQ(Status(a), kNone);
  Up(CollectiveOp::kGroupConstruct);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(Status(b), kSuccess);
  EXPECT_EQ(Members(b), (Procs{{"job", 0}, {"job", 1}, {"job", 2}}));
  const auto down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(down[0].second.id.name, "g");
  EXPECT_TRUE(DecodeGroupRecord(down[0].second.result));
  EXPECT_EQ(engine_->groups().size(), 1u);
}

// Returns the committed data of "job":2, which is on agent 3.
GroupRecord Committed(const std::string& key) {
  ModexStore theirs;
  EXPECT_TRUE(theirs.Commit(kNow, {"job", 2}, {{Scope::kGlobal, Kval(key)}}));
  ModexWriter writer;
  writer.Add(theirs.UpdateSince({"job", 2}, 0));
  GroupRecord record;
  record.committed = writer.Take().view();
  return record;
}

TEST_F(CollectiveGroupTest, CommittedDataOfMembersArrivesWithTheConstruct) {
  ASSERT_TRUE(
      modex_.Commit(kNow, {"job", 1}, {{Scope::kRemote, Kval("mine")}}));
  Construct(10, kWhole);
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct, Committed("theirs"));
  EXPECT_EQ(modex_.FindHere({"job", 2}, "theirs"), ModexStore::Found::kYes);
  const auto published = All<PublishRank>(actions_);
  ASSERT_EQ(published.size(), 1u);
  EXPECT_EQ(published[0].proc, (ProcId{"job", 2}));
  // Agent 3 gets the data that it lacks.
  const auto down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  ASSERT_EQ(down[0].second.contributions.size(), 1u);
  EXPECT_EQ(down[0].second.contributions[0].node, 1u);
  const auto mine = DecodeGroupRecord(down[0].second.contributions[0].data);
  ASSERT_TRUE(mine);
  ModexReader reader((Bytes(mine->committed)));
  RankUpdate update;
  ASSERT_TRUE(reader.Next(&update));
  EXPECT_EQ(update.proc, (ProcId{"job", 1}));
  EXPECT_FALSE(reader.Next(&update));
  const auto result = DecodeGroupRecord(down[0].second.result);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->committed, "") << "is in the result";
}

TEST_F(CollectiveGroupTest, DataOfAnotherNodesMembersIsIgnored) {
  ModexStore theirs;
  ASSERT_TRUE(
      theirs.Commit(kNow, {"top", 1}, {{Scope::kGlobal, Kval("false")}}));
  ModexWriter writer;
  writer.Add(theirs.UpdateSince({"top", 1}, 0));
  GroupRecord record;
  record.committed = writer.Take().view();
  Construct(10, kWhole);
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct, record);
  EXPECT_NE(Found(), nullptr);
  EXPECT_EQ(modex_.FindHere({"top", 1}, "false"), ModexStore::Found::kNothing);
}

TEST_F(CollectiveGroupTest, AMemberCanForbidSendingItsNodesData) {
  ASSERT_TRUE(
      modex_.Commit(kNow, {"job", 1}, {{Scope::kGlobal, Kval("mine")}}));
  Encoder no;
  no.PutSize(1);
  no.PutString("pmix.collect");
  no.PutUint32(PMIX_INFO_REQD);
  no.PutUint16(PMIX_BOOL);
  no.PutBool(false);
  Construct(10, kWhole, Bytes(no.Take()));
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct);
  ASSERT_NE(Found(), nullptr);
  EXPECT_TRUE(
      Sent<CollectiveDown>(actions_).at(0).second.contributions.empty());
}

TEST_F(CollectiveGroupTest, GroupsOfDifferentNamesAreIndependent) {
  const Procs local = {{"job", 0}, {"job", 1}};
  const RequestId a = Construct(10, local);
  const RequestId b = Construct(11, local, {}, "h");
  EXPECT_EQ(Status(a), kNone);
  EXPECT_EQ(Status(b), kNone);
  EXPECT_EQ(Status(Construct(11, local)), kSuccess);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(Status(b), kNone);
}

TEST_F(CollectiveGroupTest, EachRequestedContextIdIsDifferent) {
  const Bytes info = Flags({"pmix.grp.actxid"});
  const Procs self = {{"job", 0}};
  EXPECT_EQ(Status(Construct(10, self, info, "a")), kSuccess);
  EXPECT_EQ(Status(Construct(10, self, info, "b")), kSuccess);
  EXPECT_EQ(Status(Construct(10, self, {}, "c")), kSuccess);
  const Groups& groups = engine_->groups();
  const uint64_t a = groups.Find("a", self)->record.context_id;
  const uint64_t b = groups.Find("b", self)->record.context_id;
  EXPECT_NE(a, 0u);
  EXPECT_NE(b, 0u);
  EXPECT_NE(a, b);
  EXPECT_EQ(groups.Find("c", self)->record.context_id, 0u);
}

TEST_F(CollectiveGroupTest, TheContextIdIsTheFirstResult) {
  const Procs self = {{"job", 0}};
  EXPECT_EQ(FirstKey(Construct(10, self, Flags({"pmix.grp.actxid"}), "a")),
            "pmix.grp.ctxid");
  EXPECT_EQ(FirstKey(Construct(10, self, {}, "b")), "pmix.grp.mbrs");
}

TEST_F(CollectiveGroupTest, TheResultOfAnEarlierTopIsAdopted) {
  Construct(10, kWhole, Flags({"pmix.grp.actxid"}));
  Construct(11, kWhole);
  GroupRecord result;
  result.flags = kGroupAssignsContextId;
  result.context_id = 4711;
  CollectiveUp up{Id(CollectiveOp::kGroupConstruct, kWhole),
                  kAlreadyReleased,
                  {{3, EncodeGroupRecord({})}},
                  {}};
  up.result = EncodeGroupRecord(result);
  engine_->OnUp({kNow, actions_, &events_}, 3, up);
  ASSERT_NE(Found(), nullptr);
  EXPECT_EQ(Found()->record.context_id, 4711u);
}

TEST_F(CollectiveGroupTest,
       AnAgentBelowTheTopSendsAContributionAndGetsTheResult) {
  const Procs all = {{"top", kRankWildcard}};
  const RequestId a = Construct(20, all, Flags({"pmix.grp.ldr"}));
  const auto up = Sent<CollectiveUp>(actions_);
  ASSERT_EQ(up.size(), 1u);
  ASSERT_EQ(up[0].second.contributions.size(), 1u);
  const auto mine = DecodeGroupRecord(up[0].second.contributions[0].data);
  ASSERT_TRUE(mine);
  EXPECT_EQ(mine->leader, (ProcId{"top", 0}));
  GroupRecord result;
  result.context_id = 9;
  CollectiveDown down{Id(CollectiveOp::kGroupConstruct, all), kSuccess, {}, {}};
  down.result = EncodeGroupRecord(result);
  engine_->OnDown({kNow, actions_, &events_}, 0, down);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(engine_->groups().FindOf("g", {"top", 0})->record.context_id, 9u);
}

TEST_F(CollectiveGroupTest, MalformedCallsAreRefused) {
  const Procs self = {{"job", 0}};
  EXPECT_EQ(Status(Construct(10, {})), kErrBadParam);
  EXPECT_EQ(Status(Construct(10, self, {}, "")), kErrBadParam);
  EXPECT_EQ(Status(Construct(10, self, {}, "job")), kErrBadParam);
  EXPECT_EQ(Status(Construct(10, self, {}, std::string(256, 'x'))),
            kErrBadParam);
  EXPECT_EQ(Status(Construct(10, {{"job", 7}})), kErrBadParam);
  EXPECT_EQ(Status(Construct(10, {{"job", 1}})), kErrBadParam);
  EXPECT_EQ(Status(Construct(10, self, Flags({"pmix.grp.btstrp"}))),
            kErrNotSupported);
  EXPECT_EQ(Status(Construct(10, kWhole, Flags({"pmix.grp.lcl"}))),
            kErrBadParam);
  EXPECT_EQ(Status(Destruct(10)), kErrNotFound);
  EXPECT_EQ(Status(Destruct(10, self)), kErrNotFound);
  EXPECT_EQ(engine_->num_series(), 0u);
  EXPECT_EQ(Status(Construct(10, self, Flags({"pmix.grp.lcl"}))), kSuccess);
}

TEST_F(CollectiveGroupTest, AConstructFailsIfAMemberIsInAGroupOfThatName) {
  MakeGroup();
  const RequestId b = Construct(11, {{"job", 0}, {"job", 1}});
  EXPECT_EQ(Status(b), kErrExists);
  EXPECT_EQ(Status(Construct(10, {{"job", 0}, {"job", 1}})), kErrExists);
  EXPECT_EQ(engine_->groups().size(), 1u);
}

TEST_F(CollectiveGroupTest, ADestructEndsTheGroupAndFreesItsName) {
  MakeGroup();
  const RequestId a = Destruct(10);
  const RequestId b = Destruct(11, kWhole);
  EXPECT_EQ(Status(a), kNone);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(Status(b), kSuccess);
  EXPECT_EQ(engine_->groups().size(), 0u);
  EXPECT_EQ(Status(Destruct(10)), kErrNotFound);
  // The name can be used again.
  const RequestId again = Construct(10, kWhole);
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct, {}, 1);
  EXPECT_EQ(Status(again), kSuccess);
}

TEST_F(CollectiveGroupTest, WithoutDirectivesALostMemberFailsTheConstruct) {
  const RequestId a = Construct(10, kWhole);
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone({kNow, actions_, &events_}, {"job", 2});
  EXPECT_EQ(Status(a), kErrProcAborted);
  EXPECT_EQ(engine_->groups().size(), 0u);
}

TEST_F(CollectiveGroupTest, TheLeaderGetsTheMembersThatFailedTheConstruct) {
  Construct(10, kWhole, Flags({"pmix.grp.ldr"}));
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone({kNow, actions_, &events_}, {"job", 2});
  const auto failed = TakeAll<FailedConstruct>(&events_);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].name, "g");
  EXPECT_EQ(failed[0].leader, (ProcId{"job", 0}));
  EXPECT_EQ(failed[0].missing, (Procs{{"job", 2}}));
  // Without a leader there is no failed construct to report.
  Construct(11, {{"job", 1}, {"job", 2}});
  EXPECT_TRUE(events_.empty());
}

TEST_F(CollectiveGroupTest,
       AnOptionalConstructSucceedsPartlyWithoutAGoneMember) {
  const Bytes info = Flags({"pmix.grp.opt"});
  const RequestId a = Construct(10, kWhole, info);
  Construct(11, kWhole, info);
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone({kNow, actions_, &events_}, {"job", 2});
  EXPECT_EQ(Status(a), kErrPartialSuccess);
  EXPECT_EQ(Members(a), (Procs{{"job", 0}, {"job", 1}}));
  EXPECT_TRUE(engine_->groups().Of({"job", 2}).empty());
}

TEST_F(CollectiveGroupTest, ATolerantConstructSucceedsWithoutAGoneLocalMember) {
  const Bytes info = Flags({"pmix.grp.ftcoll"});
  const RequestId a = Construct(10, kWhole, info);
  Up(CollectiveOp::kGroupConstruct);
  jobs_.MarkEnded("job", 1);
  engine_->OnRankGone({kNow, actions_, &events_}, {"job", 1});
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(Members(a), (Procs{{"job", 0}, {"job", 2}}));
  EXPECT_EQ(TakeAll<GroupIncomplete>(&events_).size(), 1u);
}

TEST_F(CollectiveGroupTest, AnOptionalConstructSurvivesALostNode) {
  const Bytes info = Flags({"pmix.grp.notterm"});
  const RequestId a = Construct(10, kWhole, info);
  Construct(11, kWhole, info);
  tree_.SetAlive(3, false);
  engine_->OnTreeChanged({kNow, actions_, &events_});
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(Members(a), (Procs{{"job", 0}, {"job", 1}}));
}

// The other agents have declared this node lost.
TEST_F(CollectiveGroupTest, AParticipantThatTheResultOmitsGetsAnError) {
  const Procs all = {{"top", kRankWildcard}};
  const RequestId a = Construct(20, all);
  GroupRecord result;
  result.made = 5;
  result.missing = {{"top", 0}};
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, result);
  EXPECT_EQ(Status(a), kErrUnreach);
}

TEST_F(CollectiveGroupTest, ATolerantGroupEndsWithoutTheDeadMembers) {
  MakeGroup(Flags({"pmix.grp.notterm"}));
  const RequestId a = Destruct(10);
  jobs_.MarkEnded("job", 1);
  engine_->OnRankGone({kNow, actions_, &events_}, {"job", 1});
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kSuccess);
}

TEST_F(CollectiveGroupTest, AConstructWithAnUnknownJobWaitsForItsMap) {
  const RequestId a = Construct(10, {{"job", 0}, {"later", 0}, {"later", 1}});
  const auto wanted = TakeAll<MapWanted>(&events_);
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].nspace, "later");
  jobs_.Add(JobOn("later", {1, 1}));
  engine_->OnJobAdded({kNow, actions_, &events_}, "later");
  EXPECT_EQ(engine_->num_series(), 1u);
  jobs_.Connect(30, {"later", 0});
  jobs_.Connect(31, {"later", 1});
  Construct(30, {{"later", kRankWildcard}, {"job", 0}});
  Construct(31, {{"later", kRankWildcard}, {"job", 0}});
  EXPECT_EQ(Status(a), kSuccess);
}

// Agents that know a job name the whole job by a wildcard, so their
// contributions wait in another series than that of the local caller.
TEST_F(CollectiveGroupTest, ContributionsUnderAnotherNotationWaitForTheMap) {
  const Procs listed = {{"job", 0}, {"late", 0}, {"late", 1}};
  const Procs named = {{"job", 0}, {"late", kRankWildcard}};
  Construct(10, listed);
  engine_->OnUp({kNow, actions_, &events_}, 3,
                {Id(CollectiveOp::kGroupConstruct, named),
                 kSuccess,
                 {{3, EncodeGroupRecord({})}},
                 {}});
  jobs_.Add(JobOn("late", {3, 0}));
  engine_->OnJobAdded({kNow, actions_, &events_}, "late");
  const auto up = Sent<CollectiveUp>(actions_);
  ASSERT_EQ(up.size(), 1u);
  EXPECT_EQ(up[0].second.contributions.size(), 2u);
}

// A process reports its counts to the successor with the participants named as
// in its calls.
TEST_F(CollectiveGroupTest, ReattachedCountsAreAppliedWhenTheMapArrives) {
  const Procs listed = {{"job", 0}, {"late", 0}, {"late", 1}};
  const Procs named = {{"job", 0}, {"late", kRankWildcard}};
  engine_->set_persists(true);
  GroupRecord result;
  result.made = 5;
  Construct(10, named);
  jobs_.Add(JobOn("late", {3, 0}));
  engine_->OnJobAdded({kNow, actions_, &events_}, "late");
  Down(CollectiveOp::kGroupConstruct, named, kSuccess, result);
  Down(CollectiveOp::kGroupDestruct, named, kSuccess);
  const auto records = All<PersistRecord>(actions_);
  jobs_.Remove("late");
  engine_.emplace(1, tree_, jobs_, modex_);
  engine_->OnRecovered("job");
  for (const PersistRecord& record : records) {
    engine_->Recover({record.key, record.value});
  }
  engine_->OnReattached(
      {kNow, actions_, &events_},
      {10, {{CollectiveOp::kGroupConstruct, listed, 1, "g"}}});
  const RequestId a = Construct(10, listed);
  jobs_.Add(JobOn("late", {3, 0}));
  engine_->OnJobAdded({kNow, actions_, &events_}, "late");
  EXPECT_EQ(Status(a), kNone);
  Down(CollectiveOp::kGroupConstruct, named, kSuccess, result, 1);
  EXPECT_EQ(Status(a), kSuccess);
}

TEST_F(CollectiveGroupTest, AGroupEndsWithItsJob) {
  MakeGroup();
  jobs_.Remove("job");
  engine_->OnJobRemoved({kNow, actions_, &events_}, {"job"});
  EXPECT_EQ(engine_->groups().size(), 0u);
  EXPECT_EQ(engine_->num_series(), 0u);
}

// Agent 3 gets again the results that it may lack. For a group that has ended,
// this is only the result of its destruct.
TEST_F(CollectiveGroupTest, TheResultOfAnEndedGroupIsDropped) {
  engine_->set_persists(true);
  MakeGroup();
  engine_->OnNodeRestarted({kNow, actions_, &events_}, 3);
  auto down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_FALSE(down[0].second.result.empty());
  Destruct(10);
  Destruct(11);
  actions_.clear();
  Up(CollectiveOp::kGroupDestruct);
  // The record of the construct, which a successor needs, is small as well.
  const auto records = All<PersistRecord>(actions_);
  ASSERT_EQ(records.size(), 2u);
  for (const PersistRecord& record : records) {
    EXPECT_LT(record.value.size(), 48u);
  }
  actions_.clear();
  engine_->OnNodeRestarted({kNow, actions_, &events_}, 3);
  down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(down[0].second.id.op, CollectiveOp::kGroupDestruct);
  // The result identifies the group that has ended.
  EXPECT_NE(DecodeGroupRecord(down[0].second.result)->made, 0u);
  EXPECT_LT(down[0].second.result.size(), 32u);
}

// For a while, agent 3 had another parent, which was to forward the release.
TEST_F(CollectiveGroupTest,
       AfterALossAReleaseIsResentToAChildThatContributesAgain) {
  MakeGroup();
  Up(CollectiveOp::kGroupConstruct);
  EXPECT_TRUE(Sent<CollectiveDown>(actions_).empty());
  tree_.SetAlive(6, false);
  engine_->OnTreeChanged({kNow, actions_, &events_});
  actions_.clear();
  Up(CollectiveOp::kGroupConstruct);
  EXPECT_EQ(Sent<CollectiveDown>(actions_).size(), 1u);
}

// The top may have released the collective, so the top decides.
TEST_F(CollectiveGroupTest, AfterTheContributionTheTopDecidesOnATimeout) {
  const Procs all = {{"top", kRankWildcard}};
  for (const int decision : {kSuccess, kErrTimeout}) {
    const RequestId a = Construct(20, all, {}, "g", 5);
    actions_.clear();
    engine_->OnTick({kNow + 5'000'000, actions_});
    EXPECT_EQ(Status(a), kNone);
    const auto up = Sent<CollectiveUp>(actions_);
    ASSERT_EQ(up.size(), 1u);
    EXPECT_EQ(up[0].second.status, kErrTimeout);
    // A successor of the top gets the request for the failure again.
    actions_.clear();
    engine_->OnNodeRestarted({kNow, actions_, &events_}, 0);
    EXPECT_TRUE(std::ranges::any_of(
        Sent<CollectiveUp>(actions_),
        [](const auto& to) { return to.second.status == kErrTimeout; }));
    const auto sequence = up[0].second.id.sequence;
    Down(CollectiveOp::kGroupConstruct, all, decision, {}, sequence);
    EXPECT_EQ(Status(a), decision);
    if (decision != kSuccess) continue;
    Destruct(20);
    Down(CollectiveOp::kGroupDestruct, all, kSuccess);
  }
}

TEST_F(CollectiveGroupTest, TheTopDecidesOnTheTimeoutOfAConnect) {
  const Procs all = {{"top", kRankWildcard}};
  const RequestId a = Call(CollectiveOp::kConnect, 20, all, {}, "", 5);
  engine_->OnTick({kNow + 5'000'000, actions_});
  EXPECT_EQ(Status(a), kNone);
  engine_->OnDown({kNow, actions_, &events_}, 0,
                  {{CollectiveOp::kConnect, all, 0}, kSuccess, {}, {}});
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(engine_->num_connections(), 1u);
}

TEST_F(CollectiveGroupTest, ATimeoutBeforeTheContributionEndsTheConstruct) {
  const RequestId a = Construct(10, kWhole, {}, "g", 5);
  engine_->OnTick({kNow + 5'000'000, actions_});
  EXPECT_EQ(Status(a), kErrTimeout);
}

// The agent has contributed already, so only the top may decide.
TEST_F(CollectiveGroupTest, AFailureReportedByAChildIsForwardedToTheTop) {
  const Procs all = {{"deep", kRankWildcard}};
  jobs_.Add(JobOn("deep", {1, 0, 3}));
  jobs_.Connect(50, {"deep", 0});
  const RequestId a = Construct(50, all);
  const CollectiveId id = Id(CollectiveOp::kGroupConstruct, all);
  engine_->OnUp({kNow, actions_, &events_}, 3,
                {id, kSuccess, {{3, EncodeGroupRecord({})}}, {}});
  actions_.clear();
  engine_->OnUp({kNow, actions_, &events_}, 3, {id, kErrTimeout, {}, {}});
  EXPECT_EQ(Status(a), kNone);
  ASSERT_EQ(Sent<CollectiveUp>(actions_).size(), 1u);
  EXPECT_TRUE(Sent<CollectiveDown>(actions_).empty());
  Down(CollectiveOp::kGroupConstruct, all, kErrTimeout);
  EXPECT_EQ(Status(a), kErrTimeout);
  EXPECT_EQ(Sent<CollectiveDown>(actions_).size(), 1u);
}

// Agent 3 has contributed, and waits.
TEST_F(CollectiveGroupTest, TheTopFailsTheConstructOnRequest) {
  const RequestId a = Construct(10, kWhole);
  Up(CollectiveOp::kGroupConstruct);
  actions_.clear();
  const CollectiveId id = Id(CollectiveOp::kGroupConstruct, kWhole);
  engine_->OnUp({kNow, actions_, &events_}, 3, {id, kErrTimeout, {}, {}});
  EXPECT_EQ(Status(a), kErrTimeout);
  const auto down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(down[0].first, 3u);
  EXPECT_EQ(down[0].second.status, kErrTimeout);
}

TEST_F(CollectiveGroupTest, ATimeoutThatAwaitsTheTopFailsIfTheTopIsLost) {
  const Procs all = {{"top", kRankWildcard}};
  const RequestId a = Construct(20, all, {}, "g", 5);
  engine_->OnTick({kNow + 5'000'000, actions_});
  EXPECT_EQ(Status(a), kNone);
  tree_.SetAlive(0, false);
  engine_->OnTreeChanged({kNow, actions_, &events_});
  EXPECT_EQ(Status(a), kErrTimeout);
}

TEST_F(CollectiveGroupTest, AConstructWithTooMuchSharedDataFails) {
  const RequestId a = Construct(10, kWhole);
  GroupRecord much;
  much.num_shared = 1;
  much.shared = std::string(kMaxSharedOfGroup + 1, 'x');
  Up(CollectiveOp::kGroupConstruct, much);
  EXPECT_EQ(Status(a), kErrOutOfResource);
  EXPECT_EQ(Sent<CollectiveDown>(actions_).back().second.status,
            kErrOutOfResource);
}

TEST_F(CollectiveGroupTest, AnIgnoredDirectiveIsLoggedOnce) {
  const Procs self = {{"job", 0}};
  const Bytes info = Flags({"site.wish"});
  EXPECT_EQ(Status(Construct(10, self, info, "a")), kSuccess);
  EXPECT_EQ(Status(Construct(10, self, info, "b")), kSuccess);
  const auto lines = All<LogLine>(actions_);
  EXPECT_EQ(std::ranges::count_if(lines,
                                  [](const LogLine& line) {
                                    return line.text.find("site.wish") !=
                                           std::string::npos;
                                  }),
            1);
}

// Each end of a member is checked once, and not all members for each end.
TEST(CollectiveGroupGrowth, TheCostOfTheEndsOfMembersIsLinear) {
  constexpr size_t kNodes = 400;
  std::map<size_t, std::shared_ptr<const JobSpec>> specs;
  for (const size_t count : {kNodes, kGrowthFactor * kNodes}) {
    std::vector<NodeId> nodes(count);
    std::iota(nodes.begin(), nodes.end(), 0);
    specs[count] = JobOn("many", nodes);
  }
  const double growth = GrowthOf(kNodes, [&](size_t count) {
    Tree tree(static_cast<uint32_t>(count), 32);
    JobTable jobs(0);
    ModexStore modex;
    Collectives engine(0, tree, jobs, modex);
    jobs.Add(specs.at(count));
    jobs.Connect(1, {"many", 0});
    CollectiveArrived in;
    in.op = CollectiveOp::kGroupConstruct;
    in.client = in.request = 1;
    in.participants = {{"many", kRankWildcard}};
    in.info = Flags({"pmix.grp.notterm"});
    in.name = "g";
    Actions actions;
    engine.OnArrived({kNow, actions}, in);
    for (Rank rank = 1; rank < count; ++rank) {
      jobs.MarkEnded("many", rank);
      engine.OnRankGone({kNow, actions}, {"many", rank});
      while (engine.NextDeadline() == 0) engine.OnTick({kNow, actions});
    }
    EXPECT_EQ(engine.groups().size(), 1u);
  });
  EXPECT_LT(growth, kAlmostLinear);
}

}  // namespace
}  // namespace canopy::core
