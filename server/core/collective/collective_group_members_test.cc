// Tests of members of process groups that leave, end or are restarted, before
// and after a restart of their agent.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/collective/collective.h"
#include "server/core/collective/collective_group_testing.h"
#include "server/core/collective/group_record.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

TEST_F(CollectiveGroupTest, ADestructDoesNotWaitForAMemberThatHasLeft) {
  MakeGroup();
  EXPECT_TRUE(engine_->OnLeft({kNow, actions_, &events_}, {"job", 1}, "g", 0));
  EXPECT_FALSE(engine_->OnLeft({kNow, actions_, &events_}, {"job", 1}, "g", 0));
  EXPECT_EQ(Status(Destruct(11)), kErrNotFound);
  EXPECT_EQ(Status(Destruct(11, kWhole)), kErrNotFound);
  const RequestId a = Destruct(10);
  EXPECT_EQ(Status(a), kNone);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kSuccess);
}

TEST_F(CollectiveGroupTest, TheEndOfAMemberThatHasLeftDoesNotFailTheDestruct) {
  MakeGroup();
  EXPECT_TRUE(engine_->OnLeft({kNow, actions_, &events_}, {"job", 2}, "g", 0));
  const RequestId a = Destruct(10);
  Destruct(11);
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone({kNow, actions_, &events_}, {"job", 2});
  EXPECT_EQ(Status(a), kNone);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kSuccess);
}

// The report that a member has left may arrive after the member's end. The
// member's agent gets a request, which is repeated to its successor.
TEST_F(CollectiveGroupTest,
       ADestructAsksTheAgentOfAGoneMemberWhetherItHadLeft) {
  MakeGroup();
  const RequestId a = Destruct(10);
  Destruct(11);
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone({kNow, actions_, &events_}, {"job", 2});
  EXPECT_EQ(Status(a), kNone);
  const auto asked = [&] {
    const auto up = Sent<CollectiveUp>(actions_);
    return std::ranges::count_if(up, [](const auto& sent) {
      return sent.first == 3 && sent.second.contributions.empty();
    });
  };
  EXPECT_EQ(asked(), 1);
  engine_->OnNodeRestarted({kNow, actions_, &events_}, 3);
  EXPECT_EQ(asked(), 2);
  CollectiveUp failure{Id(CollectiveOp::kGroupDestruct, kWhole),
                       kErrProcTermWoSync,
                       {},
                       {{"job", 2}}};
  engine_->OnUp({kNow, actions_, &events_}, 3, failure);
  EXPECT_EQ(Status(a), kErrProcTermWoSync);
}

// Agent 1 is the agent of the gone member, so it gets the request to decide for
// that member.
TEST_F(CollectiveGroupTest, AnAgentAnswersWhetherItsGoneMemberHadLeft) {
  for (const bool left : {true, false}) {
    SCOPED_TRACE(left);
    const Procs all = {{"top", kRankWildcard}};
    engine_.emplace(1, tree_, jobs_, modex_);
    Construct(20, all);
    Down(CollectiveOp::kGroupConstruct, all, kSuccess);
    if (left) engine_->OnLeft({kNow, actions_, &events_}, {"top", 0}, "g", 0);
    jobs_.MarkEnded("top", 0);
    engine_->OnRankGone({kNow, actions_, &events_}, {"top", 0});
    actions_.clear();
    engine_->OnUp({kNow, actions_, &events_}, 0,
                  {Id(CollectiveOp::kGroupDestruct, all), kSuccess, {}, {}});
    const auto up = Sent<CollectiveUp>(actions_);
    const bool fails = std::ranges::any_of(
        up, [](const auto& sent) { return sent.second.status != kSuccess; });
    EXPECT_EQ(fails, !left);
  }
}

TEST_F(CollectiveGroupTest, TheLossOfANodeFailsADestructAlsoAfterALeave) {
  MakeGroup();
  EXPECT_TRUE(engine_->OnLeft({kNow, actions_, &events_}, {"job", 2}, "g", 0));
  const RequestId a = Destruct(10);
  tree_.SetAlive(3, false);
  engine_->OnTreeChanged({kNow, actions_, &events_});
  EXPECT_EQ(Status(a), kErrProcAborted);
}

TEST_F(CollectiveGroupTest, ADestructEndsWhenTheLastAwaitedLocalMemberLeaves) {
  MakeGroup();
  const RequestId a = Destruct(10);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kNone);
  EXPECT_TRUE(engine_->OnLeft({kNow, actions_, &events_}, {"job", 1}, "g", 0));
  EXPECT_EQ(Status(a), kSuccess);
}

// A successor recovers the state of a group.
TEST_F(CollectiveGroupTest, ASuccessorRecoversGroupsAndTheirMembers) {
  engine_->set_persists(true);
  Construct(10, kWhole, Flags({"pmix.grp.actxid"}));
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct);
  engine_->OnLeft({kNow, actions_, &events_}, {"job", 1}, "g", 0);
  const uint64_t context = Found()->record.context_id;
  const auto records = All<PersistRecord>(actions_);
  ASSERT_EQ(records.size(), 2u);
  engine_.emplace(1, tree_, jobs_, modex_);
  for (const PersistRecord& record : records) {
    engine_->Recover({record.key, record.value});
  }
  ASSERT_NE(Found(), nullptr);
  EXPECT_EQ(Found()->record.context_id, context);
  EXPECT_EQ(engine_->groups().FindOf("g", {"job", 1}), nullptr);
  // Rank 0 has not received its reply, and repeats its request.
  engine_->OnRecovered("job");
  actions_.clear();
  engine_->OnReattached({kNow, actions_, &events_}, {10, {}});
  const RequestId a = Construct(10, kWhole);
  EXPECT_EQ(Status(a), kSuccess);
}

// A record in the journal of a job without members here would get out of date.
TEST_F(CollectiveGroupTest, GroupRecordsAreOnlyInTheJournalsOfLocalJobs) {
  const Procs procs = {{"job", 0}, {"top", 1}};
  engine_->set_persists(true);
  GroupRecord result;
  result.made = 5;
  Construct(10, procs);
  Down(CollectiveOp::kGroupConstruct, procs, kSuccess, result);
  EXPECT_TRUE(engine_->OnLeft({kNow, actions_, &events_}, {"job", 0}, "g", 0));
  Down(CollectiveOp::kGroupDestruct, procs, kSuccess);
  const auto records = All<PersistRecord>(actions_);
  EXPECT_EQ(records.size(), 4u);
  for (const PersistRecord& record : records) EXPECT_EQ(record.nspace, "job");
}

// A process counts the ends of groups in which it took part, but not the end of
// a group that it has left.
TEST_F(CollectiveGroupTest,
       AMemberThatLeftUnderThePredecessorCanEndTheNextGroup) {
  engine_->set_persists(true);
  MakeGroup();
  Construct(10, kWhole);  // refused: rank 0 is a member
  Construct(11, kWhole);  // refused: rank 1 is a member
  engine_->OnLeft({kNow, actions_, &events_}, {"job", 0}, "g", 0);
  Destruct(11);
  Up(CollectiveOp::kGroupDestruct);
  Construct(10, kWhole);
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct, {}, 2);
  ASSERT_NE(Found(), nullptr);
  Succeed();
  engine_->OnReattached(
      {kNow, actions_, &events_},
      {10, {{CollectiveOp::kGroupConstruct, kWhole, 3, "g"}}});
  EXPECT_EQ(Status(Destruct(10)), kNone);
}

// Rank 0 has left the first group. The destruct of the next group fails before
// rank 0 reattaches to the successor.
TEST_F(CollectiveGroupTest, ASuccessorReportsTheFailedEndOfTheNextGroup) {
  const Procs procs = {{"job", 0}, {"top", 1}};
  engine_->set_persists(true);
  LeaveOneForTheNext(procs);
  Succeed();
  Down(CollectiveOp::kGroupDestruct, procs, kErrProcAborted, {}, 1);
  engine_->OnReattached({kNow, actions_, &events_},
                        {10, {{CollectiveOp::kGroupConstruct, procs, 2, "g"}}});
  EXPECT_EQ(Status(Destruct(10, procs)), kErrProcAborted);
}

TEST_F(CollectiveGroupTest,
       ASuccessorReportsAnEndThatFailedUnderThePredecessor) {
  const Procs procs = {{"job", 0}, {"top", 1}};
  engine_->set_persists(true);
  LeaveOneForTheNext(procs);
  Down(CollectiveOp::kGroupDestruct, procs, kErrProcAborted, {}, 1);
  Succeed();
  engine_->OnReattached({kNow, actions_, &events_},
                        {10, {{CollectiveOp::kGroupConstruct, procs, 2, "g"}}});
  EXPECT_EQ(Status(Destruct(10, procs)), kErrProcAborted);
}

TEST_F(CollectiveGroupTest, ASuccessorReportsAFailedEndAlsoWhenAJobIsOver) {
  const Procs procs = {{"job", 0}, {"top", 1}};
  engine_->set_persists(true);
  LeaveOneForTheNext(procs);
  Succeed();
  Down(CollectiveOp::kGroupDestruct, procs, kErrProcAborted, {}, 1);
  jobs_.Remove("top");
  engine_->OnJobRemoved({kNow, actions_, &events_}, {"top"});
  engine_->OnReattached({kNow, actions_, &events_},
                        {10, {{CollectiveOp::kGroupConstruct, procs, 2, "g"}}});
  EXPECT_EQ(Status(Destruct(10, procs)), kErrProcAborted);
}

// The other member has ended the group.
TEST_F(CollectiveGroupTest, AMemberThatLeftAnEndedGroupCannotDestructIt) {
  engine_->set_persists(true);
  MakeGroup();
  Construct(10, kWhole);
  engine_->OnLeft({kNow, actions_, &events_}, {"job", 0}, "g", 0);
  const RequestId ends = Destruct(11);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(ends), kSuccess);
  Succeed();
  for (const ClientId client : {10, 11}) {
    engine_->OnReattached(
        {kNow, actions_, &events_},
        {client, {{CollectiveOp::kGroupConstruct, kWhole, 1, "g"}}});
  }
  EXPECT_EQ(Status(Destruct(10, kWhole)), kErrNotFound);
  EXPECT_EQ(Status(Destruct(11, kWhole)), kSuccess) << "its answer was lost";
}

// The other members have ended the group before the agent of the process that
// left was replaced.
TEST_F(CollectiveGroupTest, ASuccessorAcceptsARepeatedLeaveOfAnEndedGroup) {
  engine_->set_persists(true);
  MakeGroup();
  Construct(10, kWhole);
  engine_->OnLeft({kNow, actions_, &events_}, {"job", 0}, "g", 0);
  Destruct(11);
  Up(CollectiveOp::kGroupDestruct);
  const auto records = All<PersistRecord>(actions_);
  engine_.emplace(1, tree_, jobs_, modex_);
  for (const PersistRecord& record : records) {
    engine_->Recover({record.key, record.value});
  }
  EXPECT_EQ(engine_->groups().size(), 0u);
  EXPECT_FALSE(engine_->TakeLeftBefore({"job", 1}, "g"));
  EXPECT_TRUE(engine_->TakeLeftBefore({"job", 0}, "g"));
}

// The release of the next construct may overtake that of the destruct.
TEST_F(CollectiveGroupTest, ALateReleaseOfADestructDoesNotEndTheNextGroup) {
  const Procs all = {{"top", kRankWildcard}};
  GroupRecord result;
  result.made = 5;
  Construct(20, all);
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, result);
  engine_->OnLeft({kNow, actions_, &events_}, {"top", 0}, "g", 0);
  Construct(20, all);
  result.made = 6;
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, result, 1);
  Down(CollectiveOp::kGroupDestruct, all, kSuccess);
  EXPECT_NE(engine_->groups().FindOf("g", {"top", 0}), nullptr);
}

// A successor receives both releases at once, and has no record of either
// group.
TEST_F(CollectiveGroupTest, AtASuccessorALateReleaseDoesNotEndTheNextGroup) {
  const Procs all = {{"top", kRankWildcard}};
  engine_->set_persists(true);
  GroupRecord last;
  last.made = 5;
  Construct(20, all);
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, last);
  engine_->OnLeft({kNow, actions_, &events_}, {"top", 0}, "g", 0);
  Succeed();
  GroupRecord next;
  next.made = 6;
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, next, 1);
  Down(CollectiveOp::kGroupDestruct, all, kSuccess, last);
  EXPECT_NE(engine_->groups().FindOf("g", {"top", 0}), nullptr);
  engine_->OnReattached({kNow, actions_, &events_},
                        {20, {{CollectiveOp::kGroupConstruct, all, 1, "g"}}});
  EXPECT_EQ(Status(Construct(20, all)), kSuccess);
}

// The members of the series are not known yet.
TEST_F(CollectiveGroupTest, ADestructOfTheNextGroupWaitsForAMapThatIsMissing) {
  const Procs all = {{"job", 0}, {"late", kRankWildcard}};
  engine_->set_persists(true);
  jobs_.Add(JobOn("late", {3, 0}));
  LeaveOneForTheNext(all);
  jobs_.Remove("late");
  Succeed();
  engine_->OnReattached({kNow, actions_, &events_},
                        {10, {{CollectiveOp::kGroupConstruct, all, 2, "g"}}});
  EXPECT_EQ(Status(Destruct(10, all)), kNone);
}

// The end of a job removes the group and the list of its members, before the
// members reattach or afterwards.
TEST_F(CollectiveGroupTest, AMemberThatLeftDoesNotGetTheEndOfTheNextGroup) {
  const Procs all = {{"job", 0}, {"late", kRankWildcard}};
  engine_->set_persists(true);
  jobs_.Add(JobOn("late", {3, 0}));
  LeaveOneForTheNext(all);
  const Actions persisted = actions_;
  for (const bool before : {false, true}) {
    SCOPED_TRACE(before);
    jobs_.Add(JobOn("late", {3, 0}));
    actions_ = persisted;
    Succeed();
    engine_->OnJobAdded({kNow, actions_, &events_}, "late");
    const auto over = [&] {
      jobs_.Remove("late");
      engine_->OnJobRemoved({kNow, actions_, &events_}, {"late"});
    };
    if (before) over();
    engine_->OnReattached({kNow, actions_, &events_},
                          {10, {{CollectiveOp::kGroupConstruct, all, 2, "g"}}});
    if (!before) over();
    const RequestId a = Destruct(10, all);
    EXPECT_EQ(Status(a), kNone);
    engine_->OnJobUnknown({kNow, actions_, &events_}, "late");
    EXPECT_EQ(Status(a), kErrNotFound);
  }
}

// One of two local members has left before the other gets its reply from the
// successor.
TEST_F(CollectiveGroupTest, ASuccessorRepeatsTheOriginalResultOfAConstruct) {
  engine_->set_persists(true);
  const RequestId a = Construct(10, kWhole, Flags({"pmix.grp.opt"}));
  Construct(11, kWhole);
  GroupRecord other;
  other.num_shared = 1;
  other.shared = "what rank 2 shares";
  Up(CollectiveOp::kGroupConstruct, other);
  ASSERT_EQ(Status(a), kSuccess);
  const std::string first(ReplyTo(a)->payload.view());
  engine_->OnLeft({kNow, actions_, &events_}, {"job", 1}, "g", 0);
  Succeed();
  engine_->OnReattached({kNow, actions_, &events_}, {10, {}});
  const RequestId again = Construct(10, kWhole, Flags({"pmix.grp.opt"}));
  EXPECT_EQ(Status(again), kSuccess);
  ASSERT_NE(ReplyTo(again), nullptr);
  EXPECT_EQ(ReplyTo(again)->payload.view(), first);
  EXPECT_EQ(engine_->groups().FindOf("g", {"job", 1}), nullptr);
}

// The contribution to the group's end may have been lost with the predecessor.
TEST_F(CollectiveGroupTest, ASuccessorContributesForAMemberThatHasLeft) {
  const Procs all = {{"top", kRankWildcard}};
  engine_->set_persists(true);
  Construct(20, all);
  Down(CollectiveOp::kGroupConstruct, all, kSuccess);
  EXPECT_TRUE(engine_->OnLeft({kNow, actions_, &events_}, {"top", 0}, "g", 0));
  const auto records = All<PersistRecord>(actions_);
  engine_.emplace(1, tree_, jobs_, modex_);
  engine_->OnRecovered("top");
  for (const PersistRecord& record : records) {
    engine_->Recover({record.key, record.value});
  }
  actions_.clear();
  engine_->OnJobAdded({kNow, actions_, &events_}, "top");
  const auto up = Sent<CollectiveUp>(actions_);
  ASSERT_EQ(up.size(), 1u);
  EXPECT_EQ(up[0].first, 0u);
  EXPECT_EQ(up[0].second.id.op, CollectiveOp::kGroupDestruct);
  // Rank 0 of "top" repeats its request, because it has received no reply.
  EXPECT_TRUE(engine_->TakeLeftBefore({"top", 0}, "g"));
  EXPECT_FALSE(engine_->TakeLeftBefore({"top", 0}, "g"));
}

TEST_F(CollectiveGroupTest, ARestartedProcessArrivesForItsRank) {
  Construct(10, kWhole);
  jobs_.MarkRestarted("job", 0, 1);
  engine_->OnClientGone({kNow, actions_, &events_}, 10);
  engine_->OnRankRestarted({kNow, actions_, &events_}, {"job", 0});
  jobs_.Connect(12, {"job", 0});
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct);
  EXPECT_EQ(Found(), nullptr);
  const RequestId a = Construct(12, kWhole);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_TRUE(TakeAll<MemberFollowed>(&events_).empty());
}

TEST_F(CollectiveGroupTest, ARestartedProcessIsNotAMemberOfAPendingGroup) {
  Construct(10, kWhole);
  Construct(11, kWhole);
  jobs_.MarkRestarted("job", 0, 1);
  engine_->OnClientGone({kNow, actions_, &events_}, 10);
  engine_->OnRankRestarted({kNow, actions_, &events_}, {"job", 0});
  Up(CollectiveOp::kGroupConstruct);
  const auto followed = TakeAll<MemberFollowed>(&events_);
  ASSERT_EQ(followed.size(), 1u);
  EXPECT_EQ(followed[0].proc, (ProcId{"job", 0}));
}

TEST_F(CollectiveGroupTest, ALeaveThatPrecedesItsConstructIsAppliedLater) {
  GroupRecord result;
  result.made = 5;
  EXPECT_FALSE(engine_->OnLeft({kNow, actions_, &events_}, {"top", 1}, "g", 5));
  EXPECT_FALSE(engine_->OnLeft({kNow, actions_, &events_}, {"top", 1}, "g", 6));
  const Procs all = {{"top", kRankWildcard}};
  Construct(20, all);
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, result);
  const auto followed = TakeAll<MemberFollowed>(&events_);
  ASSERT_EQ(followed.size(), 1u);
  EXPECT_EQ(followed[0].proc, (ProcId{"top", 1}));
}

TEST_F(CollectiveGroupTest, ALeaveOfAnotherGroupOfTheSameNameIsIgnored) {
  MakeGroup();
  const uint64_t made = Found()->record.made;
  EXPECT_NE(made, 0u);
  EXPECT_FALSE(
      engine_->OnLeft({kNow, actions_, &events_}, {"job", 1}, "g", made + 1));
  EXPECT_NE(engine_->groups().FindOf("g", {"job", 1}), nullptr);
  EXPECT_TRUE(
      engine_->OnLeft({kNow, actions_, &events_}, {"job", 1}, "g", made));
}

}  // namespace
}  // namespace canopy::core
