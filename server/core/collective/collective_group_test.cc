// Construction and destruction of process groups, at one agent.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/growth_testing.h"
#include "common/status.h"
#include "server/core/collective/collective.h"
#include "server/core/collective/group_directives.h"
#include "server/core/collective/group_record.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

using Procs = std::vector<ProcId>;

constexpr int kNone = -1000;
constexpr TimeNs kNow = TimeNs{1} << 40;

Bytes Flags(const std::vector<std::string>& keys) {
  Encoder out;
  out.PutSize(keys.size());
  for (const std::string& key : keys) {
    out.PutString(key);
    out.PutUint32(0);
    out.PutUint16(PMIX_BOOL);
    out.PutBool(true);
  }
  return Bytes(out.Take());
}

// The engine of agent 1 in a binary tree of 7: its parent is 0, its children
// are 3 and 4. Job "job": ranks 0 and 1 here, rank 2 on agent 3. Job "top":
// rank 0 here, rank 1 on agent 0.
class CollectiveGroupTest : public testing::Test {
 protected:
  CollectiveGroupTest() : tree_(7, 2), jobs_(1) {
    engine_.emplace(1, tree_, jobs_, modex_);
    jobs_.Add(JobOn("job", {1, 1, 3}));
    jobs_.Add(JobOn("top", {1, 0}));
    jobs_.Connect(10, {"job", 0});
    jobs_.Connect(11, {"job", 1});
    jobs_.Connect(20, {"top", 0});
    actions_.clear();
  }

  RequestId Call(CollectiveOp op, ClientId client, Procs procs,
                 const Bytes& info = {}, const std::string& name = "g",
                 uint32_t timeout_ms = 0) {
    CollectiveArrived in;
    in.op = op;
    in.client = client;
    in.request = ++request_;
    in.participants = std::move(procs);
    in.info = info;
    in.name = name;
    in.timeout_ms = timeout_ms;
    engine_->OnArrived(kNow, in, &actions_);
    return in.request;
  }
  RequestId Construct(ClientId client, Procs procs, const Bytes& info = {},
                      const std::string& name = "g", uint32_t timeout_ms = 0) {
    return Call(CollectiveOp::kGroupConstruct, client, std::move(procs), info,
                name, timeout_ms);
  }
  RequestId Destruct(ClientId client, Procs procs = {}) {
    return Call(CollectiveOp::kGroupDestruct, client, std::move(procs));
  }
  CollectiveId Id(CollectiveOp op, Procs procs, uint64_t sequence = 0) {
    return {op, std::move(procs), sequence, "g"};
  }
  // Agent 3 contributes.
  void Up(CollectiveOp op, const GroupRecord& record = {},
          uint64_t sequence = 0) {
    engine_->OnUp(kNow, 3,
                  {Id(op, kWhole, sequence),
                   kSuccess,
                   {{3, EncodeGroupRecord(record)}},
                   {}},
                  &actions_);
  }
  // Agent 0, the top, releases it.
  void Down(CollectiveOp op, const Procs& procs, int status,
            const GroupRecord& result = {}, uint64_t sequence = 0) {
    CollectiveDown down{Id(op, procs, sequence), status, {}, {}};
    if (status == kSuccess) down.result = EncodeGroupRecord(result);
    engine_->OnDown(kNow, 0, down, &actions_);
  }
  const ReplyClient* ReplyTo(RequestId request) {
    replies_ = All<ReplyClient>(actions_);
    const auto it = std::ranges::find(replies_, request, &ReplyClient::request);
    return it == replies_.end() ? nullptr : &*it;
  }
  int Status(RequestId request) {
    const ReplyClient* reply = ReplyTo(request);
    return reply == nullptr ? kNone : reply->status;
  }
  // The members that a reply names, first of its results.
  Procs Members(RequestId request) {
    const ReplyClient* reply = ReplyTo(request);
    if (reply == nullptr) return {};
    Decoder in(reply->payload.view());
    size_t count = 0;
    std::string_view key;
    uint32_t flags = 0;
    uint16_t type = 0;
    EXPECT_TRUE(in.GetSize(&count) && in.GetString(&key));
    EXPECT_EQ(key, "pmix.grp.mbrs");
    EXPECT_TRUE(in.GetUint32(&flags) && in.GetUint16(&type));
    EXPECT_TRUE(in.GetUint16(&type) && in.GetSize(&count));
    Procs out(count);
    for (ProcId& proc : out) EXPECT_TRUE(in.GetProc(&proc));
    return out;
  }
  const Group* Found() { return engine_->groups().FindOf("g", {"job", 0}); }
  // The group of all of "job" exists.
  void MakeGroup(const Bytes& info = {}) {
    Construct(10, kWhole, info);
    Construct(11, kWhole);
    Up(CollectiveOp::kGroupConstruct);
    ASSERT_NE(Found(), nullptr);
    actions_.clear();
  }

  const Procs kWhole = {{"job", kRankWildcard}};
  Tree tree_;
  JobTable jobs_;
  ModexStore modex_;
  std::optional<Collectives> engine_;
  Actions actions_;
  std::vector<ReplyClient> replies_;
  RequestId request_ = 0;
};

TEST_F(CollectiveGroupTest, ItsNameMatchesHoweverTheMembersAreNamed) {
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

TEST_F(CollectiveGroupTest, OtherNamesAreOtherGroups) {
  const Procs local = {{"job", 0}, {"job", 1}};
  const RequestId a = Construct(10, local);
  const RequestId b = Construct(11, local, {}, "h");
  EXPECT_EQ(Status(a), kNone);
  EXPECT_EQ(Status(b), kNone);
  EXPECT_EQ(Status(Construct(11, local)), kSuccess);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(Status(b), kNone);
}

TEST_F(CollectiveGroupTest, ContextIdsAreDifferent) {
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

TEST_F(CollectiveGroupTest, TheResultOfAnotherTopIsTakenOver) {
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
  engine_->OnUp(kNow, 3, up, &actions_);
  ASSERT_NE(Found(), nullptr);
  EXPECT_EQ(Found()->record.context_id, 4711u);
}

TEST_F(CollectiveGroupTest, BelowTheTopContributionsGoUpAndTheResultComesDown) {
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
  engine_->OnDown(kNow, 0, down, &actions_);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(engine_->groups().FindOf("g", {"top", 0})->record.context_id, 9u);
}

TEST_F(CollectiveGroupTest, BadCalls) {
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

TEST_F(CollectiveGroupTest, OldAgentsKnowNoGroups) {
  engine_->OnNodeIsOld(kNow, 3, true, &actions_);
  EXPECT_EQ(Status(Construct(10, kWhole)), kErrNotSupported);
  EXPECT_EQ(Status(Construct(10, {{"job", 0}})), kSuccess);
  engine_->OnNodeIsOld(kNow, 3, false, &actions_);
  EXPECT_EQ(Status(Construct(11, kWhole)), kNone);
}

TEST_F(CollectiveGroupTest, AMemberOfAGroupOfThatNameFailsIt) {
  MakeGroup();
  const RequestId b = Construct(11, {{"job", 0}, {"job", 1}});
  EXPECT_EQ(Status(b), kErrExists);
  EXPECT_EQ(Status(Construct(10, {{"job", 0}, {"job", 1}})), kErrExists);
  EXPECT_EQ(engine_->groups().size(), 1u);
}

TEST_F(CollectiveGroupTest, Destruct) {
  MakeGroup();
  const RequestId a = Destruct(10);
  const RequestId b = Destruct(11, kWhole);
  EXPECT_EQ(Status(a), kNone);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(Status(b), kSuccess);
  EXPECT_EQ(engine_->groups().size(), 0u);
  EXPECT_EQ(Status(Destruct(10)), kErrNotFound);
  // The name is free.
  const RequestId again = Construct(10, kWhole);
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct, {}, 1);
  EXPECT_EQ(Status(again), kSuccess);
}

TEST_F(CollectiveGroupTest, WithoutDirectivesAFailureEndsIt) {
  const RequestId a = Construct(10, kWhole);
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone(kNow, {"job", 2}, &actions_);
  EXPECT_EQ(Status(a), kErrProcAborted);
  EXPECT_EQ(engine_->groups().size(), 0u);
}

TEST_F(CollectiveGroupTest, TheLeaderIsToLearnWhoFailedIt) {
  Construct(10, kWhole, Flags({"pmix.grp.ldr"}));
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone(kNow, {"job", 2}, &actions_);
  const auto failed = engine_->TakeFailed();
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].name, "g");
  EXPECT_EQ(failed[0].leader, (ProcId{"job", 0}));
  EXPECT_EQ(failed[0].missing, (Procs{{"job", 2}}));
  // Without a leader, the status says it all.
  Construct(11, {{"job", 1}, {"job", 2}});
  EXPECT_TRUE(engine_->TakeFailed().empty());
}

TEST_F(CollectiveGroupTest, AnOptionalMemberMayBeMissing) {
  const Bytes info = Flags({"pmix.grp.opt"});
  const RequestId a = Construct(10, kWhole, info);
  Construct(11, kWhole, info);
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone(kNow, {"job", 2}, &actions_);
  EXPECT_EQ(Status(a), kErrPartialSuccess);
  EXPECT_EQ(Members(a), (Procs{{"job", 0}, {"job", 1}}));
  EXPECT_TRUE(engine_->groups().Of({"job", 2}).empty());
}

TEST_F(CollectiveGroupTest, ALocalMemberMayBeMissing) {
  const Bytes info = Flags({"pmix.grp.ftcoll"});
  const RequestId a = Construct(10, kWhole, info);
  Up(CollectiveOp::kGroupConstruct);
  jobs_.MarkEnded("job", 1);
  engine_->OnRankGone(kNow, {"job", 1}, &actions_);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(Members(a), (Procs{{"job", 0}, {"job", 2}}));
  EXPECT_EQ(engine_->TakeIncomplete().size(), 1u);
}

TEST_F(CollectiveGroupTest, ANodeMayBeLost) {
  const Bytes info = Flags({"pmix.grp.notterm"});
  const RequestId a = Construct(10, kWhole, info);
  Construct(11, kWhole, info);
  tree_.SetAlive(3, false);
  engine_->OnTreeChanged(kNow, &actions_);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(Members(a), (Procs{{"job", 0}, {"job", 1}}));
}

// The others held its node for lost.
TEST_F(CollectiveGroupTest, WhoIsLeftOutHasNoGroup) {
  const Procs all = {{"top", kRankWildcard}};
  const RequestId a = Construct(20, all);
  GroupRecord result;
  result.made = 5;
  result.missing = {{"top", 0}};
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, result);
  EXPECT_EQ(Status(a), kErrUnreach);
}

TEST_F(CollectiveGroupTest, AGroupThatIsToldOfFailuresEndsWithoutTheDead) {
  MakeGroup(Flags({"pmix.grp.notterm"}));
  const RequestId a = Destruct(10);
  jobs_.MarkEnded("job", 1);
  engine_->OnRankGone(kNow, {"job", 1}, &actions_);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kSuccess);
}

TEST_F(CollectiveGroupTest, WhoHasLeftNeedNotEndIt) {
  MakeGroup();
  EXPECT_TRUE(engine_->OnLeft(kNow, {"job", 1}, "g", 0, &actions_));
  EXPECT_FALSE(engine_->OnLeft(kNow, {"job", 1}, "g", 0, &actions_));
  EXPECT_EQ(Status(Destruct(11)), kErrNotFound);
  EXPECT_EQ(Status(Destruct(11, kWhole)), kErrNotFound);
  const RequestId a = Destruct(10);
  EXPECT_EQ(Status(a), kNone);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kSuccess);
}

TEST_F(CollectiveGroupTest, WhoHasLeftMayEnd) {
  MakeGroup();
  EXPECT_TRUE(engine_->OnLeft(kNow, {"job", 2}, "g", 0, &actions_));
  const RequestId a = Destruct(10);
  Destruct(11);
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone(kNow, {"job", 2}, &actions_);
  EXPECT_EQ(Status(a), kNone);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kSuccess);
}

// That it had left may come after its end: its agent is asked, and asked again
// when it is another one.
TEST_F(CollectiveGroupTest, TheAgentOfWhoIsGoneDecides) {
  MakeGroup();
  const RequestId a = Destruct(10);
  Destruct(11);
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone(kNow, {"job", 2}, &actions_);
  EXPECT_EQ(Status(a), kNone);
  const auto asked = [&] {
    const auto up = Sent<CollectiveUp>(actions_);
    return std::ranges::count_if(up, [](const auto& sent) {
      return sent.first == 3 && sent.second.contributions.empty();
    });
  };
  EXPECT_EQ(asked(), 1);
  engine_->OnNodeRestarted(kNow, 3, &actions_);
  EXPECT_EQ(asked(), 2);
  CollectiveUp failure{Id(CollectiveOp::kGroupDestruct, kWhole),
                       kErrProcTermWoSync,
                       {},
                       {{"job", 2}}};
  engine_->OnUp(kNow, 3, failure, &actions_);
  EXPECT_EQ(Status(a), kErrProcTermWoSync);
}

// As the agent that is asked.
TEST_F(CollectiveGroupTest, WhoIsGoneHereHadLeftOrNot) {
  for (const bool left : {true, false}) {
    SCOPED_TRACE(left);
    const Procs all = {{"top", kRankWildcard}};
    engine_.emplace(1, tree_, jobs_, modex_);
    Construct(20, all);
    Down(CollectiveOp::kGroupConstruct, all, kSuccess);
    if (left) engine_->OnLeft(kNow, {"top", 0}, "g", 0, &actions_);
    jobs_.MarkEnded("top", 0);
    engine_->OnRankGone(kNow, {"top", 0}, &actions_);
    actions_.clear();
    engine_->OnUp(kNow, 0,
                  {Id(CollectiveOp::kGroupDestruct, all), kSuccess, {}, {}},
                  &actions_);
    const auto up = Sent<CollectiveUp>(actions_);
    const bool fails = std::ranges::any_of(
        up, [](const auto& sent) { return sent.second.status != kSuccess; });
    EXPECT_EQ(fails, !left);
  }
}

TEST_F(CollectiveGroupTest, OfALostNodeItIsAFailureAnyhow) {
  MakeGroup();
  EXPECT_TRUE(engine_->OnLeft(kNow, {"job", 2}, "g", 0, &actions_));
  const RequestId a = Destruct(10);
  tree_.SetAlive(3, false);
  engine_->OnTreeChanged(kNow, &actions_);
  EXPECT_EQ(Status(a), kErrProcAborted);
}

TEST_F(CollectiveGroupTest, TheLastToLeaveANodeEndsItThere) {
  MakeGroup();
  const RequestId a = Destruct(10);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kNone);
  EXPECT_TRUE(engine_->OnLeft(kNow, {"job", 1}, "g", 0, &actions_));
  EXPECT_EQ(Status(a), kSuccess);
}

TEST_F(CollectiveGroupTest, OfAnUnknownJobItWaitsForTheMap) {
  const RequestId a = Construct(10, {{"job", 0}, {"later", 0}, {"later", 1}});
  EXPECT_EQ(engine_->TakeWanted(), std::vector<std::string>{"later"});
  jobs_.Add(JobOn("later", {1, 1}));
  engine_->OnJobAdded(kNow, "later", &actions_);
  EXPECT_EQ(engine_->num_series(), 1u);
  jobs_.Connect(30, {"later", 0});
  jobs_.Connect(31, {"later", 1});
  Construct(30, {{"later", kRankWildcard}, {"job", 0}});
  Construct(31, {{"later", kRankWildcard}, {"job", 0}});
  EXPECT_EQ(Status(a), kSuccess);
}

// Others name a whole job by a wildcard when they know it, so what they bring
// waits in another series than the caller.
TEST_F(CollectiveGroupTest, WhatOthersBringWaitsForTheMapToo) {
  const Procs listed = {{"job", 0}, {"late", 0}, {"late", 1}};
  const Procs named = {{"job", 0}, {"late", kRankWildcard}};
  Construct(10, listed);
  engine_->OnUp(kNow, 3,
                {Id(CollectiveOp::kGroupConstruct, named),
                 kSuccess,
                 {{3, EncodeGroupRecord({})}},
                 {}},
                &actions_);
  jobs_.Add(JobOn("late", {3, 0}));
  engine_->OnJobAdded(kNow, "late", &actions_);
  const auto up = Sent<CollectiveUp>(actions_);
  ASSERT_EQ(up.size(), 1u);
  EXPECT_EQ(up[0].second.contributions.size(), 2u);
}

// A successor gets counts under the names that the process used.
TEST_F(CollectiveGroupTest, CountsAreThoseOfTheSeriesThatTheMapNames) {
  const Procs listed = {{"job", 0}, {"late", 0}, {"late", 1}};
  const Procs named = {{"job", 0}, {"late", kRankWildcard}};
  engine_->set_persists(true);
  GroupRecord result;
  result.made = 5;
  Construct(10, named);
  jobs_.Add(JobOn("late", {3, 0}));
  engine_->OnJobAdded(kNow, "late", &actions_);
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
      kNow, {10, {{CollectiveOp::kGroupConstruct, listed, 1, "g"}}}, &actions_);
  const RequestId a = Construct(10, listed);
  jobs_.Add(JobOn("late", {3, 0}));
  engine_->OnJobAdded(kNow, "late", &actions_);
  EXPECT_EQ(Status(a), kNone);
  Down(CollectiveOp::kGroupConstruct, named, kSuccess, result, 1);
  EXPECT_EQ(Status(a), kSuccess);
}

TEST_F(CollectiveGroupTest, GoesWithItsJob) {
  MakeGroup();
  jobs_.Remove("job");
  engine_->OnJobRemoved("job", &actions_);
  EXPECT_EQ(engine_->groups().size(), 0u);
  EXPECT_EQ(engine_->num_series(), 0u);
}

// What a successor has of it.
TEST_F(CollectiveGroupTest, ASuccessorKnowsGroupsAndTheirMembers) {
  engine_->set_persists(true);
  Construct(10, kWhole, Flags({"pmix.grp.actxid"}));
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct);
  engine_->OnLeft(kNow, {"job", 1}, "g", 0, &actions_);
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
  // Rank 0 has not had its answer, and asks again.
  engine_->OnRecovered("job");
  actions_.clear();
  engine_->OnReattached(kNow, {10, {}}, &actions_);
  const RequestId a = Construct(10, kWhole);
  EXPECT_EQ(Status(a), kSuccess);
}

// A record that stayed in the journal of another job would be out of date.
TEST_F(CollectiveGroupTest, ItIsInTheJournalsOfLocalMembersJobs) {
  const Procs procs = {{"job", 0}, {"top", 1}};
  engine_->set_persists(true);
  GroupRecord result;
  result.made = 5;
  Construct(10, procs);
  Down(CollectiveOp::kGroupConstruct, procs, kSuccess, result);
  EXPECT_TRUE(engine_->OnLeft(kNow, {"job", 0}, "g", 0, &actions_));
  Down(CollectiveOp::kGroupDestruct, procs, kSuccess);
  const auto records = All<PersistRecord>(actions_);
  EXPECT_EQ(records.size(), 4u);
  for (const PersistRecord& record : records) EXPECT_EQ(record.nspace, "job");
}

// It has counted the ends of groups that it has ended, and not that of the one
// that it has left.
TEST_F(CollectiveGroupTest, WhoHasLeftOneUnderThePredecessorEndsTheNext) {
  engine_->set_persists(true);
  MakeGroup();
  Construct(10, kWhole);  // refused: it is a member
  Construct(11, kWhole);  // likewise
  engine_->OnLeft(kNow, {"job", 0}, "g", 0, &actions_);
  Destruct(11);
  Up(CollectiveOp::kGroupDestruct);
  Construct(10, kWhole);
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct, {}, 2);
  ASSERT_NE(Found(), nullptr);
  const auto records = All<PersistRecord>(actions_);
  engine_.emplace(1, tree_, jobs_, modex_);
  engine_->OnRecovered("job");
  for (const PersistRecord& record : records) {
    engine_->Recover({record.key, record.value});
  }
  actions_.clear();
  engine_->OnReattached(
      kNow, {10, {{CollectiveOp::kGroupConstruct, kWhole, 3, "g"}}}, &actions_);
  EXPECT_EQ(Status(Destruct(10)), kNone);
}

// The others have ended the group before the agent of who has left was
// replaced.
TEST_F(CollectiveGroupTest, WhoHasLeftAnEndedGroupMayAskAgain) {
  engine_->set_persists(true);
  MakeGroup();
  Construct(10, kWhole);
  engine_->OnLeft(kNow, {"job", 0}, "g", 0, &actions_);
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

// The release of the next construct may overtake that of the end.
TEST_F(CollectiveGroupTest, TheEndOfTheLastIsNotThatOfTheNext) {
  const Procs all = {{"top", kRankWildcard}};
  GroupRecord result;
  result.made = 5;
  Construct(20, all);
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, result);
  engine_->OnLeft(kNow, {"top", 0}, "g", 0, &actions_);
  Construct(20, all);
  result.made = 6;
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, result, 1);
  Down(CollectiveOp::kGroupDestruct, all, kSuccess);
  EXPECT_NE(engine_->groups().FindOf("g", {"top", 0}), nullptr);
}

// The same where it is not known yet who takes part.
TEST_F(CollectiveGroupTest, WhoHasLeftOneEndsTheNextWithoutAMapToo) {
  const Procs all = {{"job", 0}, {"late", kRankWildcard}};
  engine_->set_persists(true);
  jobs_.Add(JobOn("late", {3, 0}));
  GroupRecord result;
  result.made = 5;
  Construct(10, all);
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, result);
  engine_->OnLeft(kNow, {"job", 0}, "g", 0, &actions_);
  Down(CollectiveOp::kGroupDestruct, all, kSuccess);
  Construct(10, all);
  result.made = 6;
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, result, 1);
  const auto records = All<PersistRecord>(actions_);
  jobs_.Remove("late");
  engine_.emplace(1, tree_, jobs_, modex_);
  engine_->OnRecovered("job");
  for (const PersistRecord& record : records) {
    engine_->Recover({record.key, record.value});
  }
  engine_->OnReattached(
      kNow, {10, {{CollectiveOp::kGroupConstruct, all, 2, "g"}}}, &actions_);
  EXPECT_EQ(Status(Destruct(10, all)), kNone);
}

// Its part in their end may have been lost with the predecessor.
TEST_F(CollectiveGroupTest, ASuccessorEndsItForWhoHasLeft) {
  const Procs all = {{"top", kRankWildcard}};
  engine_->set_persists(true);
  Construct(20, all);
  Down(CollectiveOp::kGroupConstruct, all, kSuccess);
  EXPECT_TRUE(engine_->OnLeft(kNow, {"top", 0}, "g", 0, &actions_));
  const auto records = All<PersistRecord>(actions_);
  engine_.emplace(1, tree_, jobs_, modex_);
  engine_->OnRecovered("top");
  for (const PersistRecord& record : records) {
    engine_->Recover({record.key, record.value});
  }
  actions_.clear();
  engine_->OnJobAdded(kNow, "top", &actions_);
  const auto up = Sent<CollectiveUp>(actions_);
  ASSERT_EQ(up.size(), 1u);
  EXPECT_EQ(up[0].first, 0u);
  EXPECT_EQ(up[0].second.id.op, CollectiveOp::kGroupDestruct);
  // It asks again, as it had no answer.
  EXPECT_TRUE(engine_->TakeLeftBefore({"top", 0}, "g"));
  EXPECT_FALSE(engine_->TakeLeftBefore({"top", 0}, "g"));
}

TEST_F(CollectiveGroupTest, AFollowerArrivesInItsPlace) {
  Construct(10, kWhole);
  jobs_.MarkRestarted("job", 0, 1);
  engine_->OnClientGone(10);
  engine_->OnRankRestarted({"job", 0});
  jobs_.Connect(12, {"job", 0});
  Construct(11, kWhole);
  Up(CollectiveOp::kGroupConstruct);
  EXPECT_EQ(Found(), nullptr);
  const RequestId a = Construct(12, kWhole);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_TRUE(engine_->TakeFollowed().empty());
}

TEST_F(CollectiveGroupTest, AFollowerIsNoMemberOfWhatIsUnderWay) {
  Construct(10, kWhole);
  Construct(11, kWhole);
  jobs_.MarkRestarted("job", 0, 1);
  engine_->OnClientGone(10);
  engine_->OnRankRestarted({"job", 0});
  Up(CollectiveOp::kGroupConstruct);
  const auto followed = engine_->TakeFollowed();
  ASSERT_EQ(followed.size(), 1u);
  EXPECT_EQ(followed[0].second, (ProcId{"job", 0}));
}

TEST_F(CollectiveGroupTest, WhoLeftBeforeItWasKnownHereIsToLeave) {
  GroupRecord result;
  result.made = 5;
  EXPECT_FALSE(engine_->OnLeft(kNow, {"top", 1}, "g", 5, &actions_));
  EXPECT_FALSE(engine_->OnLeft(kNow, {"top", 1}, "g", 6, &actions_));
  const Procs all = {{"top", kRankWildcard}};
  Construct(20, all);
  Down(CollectiveOp::kGroupConstruct, all, kSuccess, result);
  const auto followed = engine_->TakeFollowed();
  ASSERT_EQ(followed.size(), 1u);
  EXPECT_EQ(followed[0].second, (ProcId{"top", 1}));
}

TEST_F(CollectiveGroupTest, WhoLeftAnEarlierGroupOfThatNameIsAMember) {
  MakeGroup();
  const uint64_t made = Found()->record.made;
  EXPECT_NE(made, 0u);
  EXPECT_FALSE(engine_->OnLeft(kNow, {"job", 1}, "g", made + 1, &actions_));
  EXPECT_NE(engine_->groups().FindOf("g", {"job", 1}), nullptr);
  EXPECT_TRUE(engine_->OnLeft(kNow, {"job", 1}, "g", made, &actions_));
}

// Agent 3 is told again of what it may lack: of an ended group, of its end
// alone.
TEST_F(CollectiveGroupTest, AnEndedGroupLeavesNoResult) {
  engine_->set_persists(true);
  MakeGroup();
  engine_->OnNodeRestarted(kNow, 3, &actions_);
  auto down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_FALSE(down[0].second.result.empty());
  Destruct(10);
  Destruct(11);
  actions_.clear();
  Up(CollectiveOp::kGroupDestruct);
  // What a successor has of the construct is small too.
  const auto records = All<PersistRecord>(actions_);
  ASSERT_EQ(records.size(), 2u);
  for (const PersistRecord& record : records) {
    EXPECT_LT(record.value.size(), 16u);
  }
  actions_.clear();
  engine_->OnNodeRestarted(kNow, 3, &actions_);
  down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(down[0].second.id.op, CollectiveOp::kGroupDestruct);
  EXPECT_TRUE(down[0].second.result.empty());
}

// Job "far" is on 1 and 5, below 2.
TEST_F(CollectiveGroupTest, AnOldAgentOnTheWayRefusesIt) {
  const Procs all = {{"far", kRankWildcard}};
  jobs_.Add(JobOn("far", {1, 5}));
  jobs_.Connect(40, {"far", 0});
  engine_->OnNodeIsOld(kNow, 6, true, &actions_);
  const RequestId a = Construct(40, all);
  EXPECT_EQ(Status(a), kNone);
  engine_->OnNodeIsOld(kNow, 2, true, &actions_);
  EXPECT_EQ(Status(a), kErrNotSupported);
  EXPECT_EQ(Status(Construct(40, all)), kErrNotSupported);
  engine_->OnNodeIsOld(kNow, 2, false, &actions_);
  EXPECT_EQ(Status(Construct(40, all)), kNone);
}

// The top may have released it: it decides.
TEST_F(CollectiveGroupTest, ATimeoutAsksTheTopOnceItHasTheContribution) {
  const Procs all = {{"top", kRankWildcard}};
  for (const int decision : {kSuccess, kErrTimeout}) {
    const RequestId a = Construct(20, all, {}, "g", 5);
    actions_.clear();
    engine_->OnTick(kNow + 5'000'000, &actions_);
    EXPECT_EQ(Status(a), kNone);
    const auto up = Sent<CollectiveUp>(actions_);
    ASSERT_EQ(up.size(), 1u);
    EXPECT_EQ(up[0].second.status, kErrTimeout);
    // A successor of the top learns of both.
    actions_.clear();
    engine_->OnNodeRestarted(kNow, 0, &actions_);
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

TEST_F(CollectiveGroupTest, SoDoesTheTimeoutOfAConnect) {
  const Procs all = {{"top", kRankWildcard}};
  const RequestId a = Call(CollectiveOp::kConnect, 20, all, {}, "", 5);
  engine_->OnTick(kNow + 5'000'000, &actions_);
  EXPECT_EQ(Status(a), kNone);
  engine_->OnDown(kNow, 0, {{CollectiveOp::kConnect, all, 0}, kSuccess, {}, {}},
                  &actions_);
  EXPECT_EQ(Status(a), kSuccess);
  EXPECT_EQ(engine_->num_connections(), 1u);
}

TEST_F(CollectiveGroupTest, ATimeoutBeforeThatIsTheEnd) {
  const RequestId a = Construct(10, kWhole, {}, "g", 5);
  engine_->OnTick(kNow + 5'000'000, &actions_);
  EXPECT_EQ(Status(a), kErrTimeout);
}

// A failure from below goes up in the same way.
TEST_F(CollectiveGroupTest, AFailureFromBelowAsksTheTopToo) {
  const Procs all = {{"deep", kRankWildcard}};
  jobs_.Add(JobOn("deep", {1, 0, 3}));
  jobs_.Connect(50, {"deep", 0});
  const RequestId a = Construct(50, all);
  const CollectiveId id = Id(CollectiveOp::kGroupConstruct, all);
  engine_->OnUp(kNow, 3, {id, kSuccess, {{3, EncodeGroupRecord({})}}, {}},
                &actions_);
  actions_.clear();
  engine_->OnUp(kNow, 3, {id, kErrTimeout, {}, {}}, &actions_);
  EXPECT_EQ(Status(a), kNone);
  ASSERT_EQ(Sent<CollectiveUp>(actions_).size(), 1u);
  EXPECT_TRUE(Sent<CollectiveDown>(actions_).empty());
  Down(CollectiveOp::kGroupConstruct, all, kErrTimeout);
  EXPECT_EQ(Status(a), kErrTimeout);
  EXPECT_EQ(Sent<CollectiveDown>(actions_).size(), 1u);
}

// Agent 3 has contributed, and waits.
TEST_F(CollectiveGroupTest, TheTopAnswersWhoAsksItToFail) {
  const RequestId a = Construct(10, kWhole);
  Up(CollectiveOp::kGroupConstruct);
  actions_.clear();
  const CollectiveId id = Id(CollectiveOp::kGroupConstruct, kWhole);
  engine_->OnUp(kNow, 3, {id, kErrTimeout, {}, {}}, &actions_);
  EXPECT_EQ(Status(a), kErrTimeout);
  const auto down = Sent<CollectiveDown>(actions_);
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(down[0].first, 3u);
  EXPECT_EQ(down[0].second.status, kErrTimeout);
}

TEST_F(CollectiveGroupTest, ATopThatIsLostCanNotBeAsked) {
  const Procs all = {{"top", kRankWildcard}};
  const RequestId a = Construct(20, all, {}, "g", 5);
  engine_->OnTick(kNow + 5'000'000, &actions_);
  EXPECT_EQ(Status(a), kNone);
  tree_.SetAlive(0, false);
  engine_->OnTreeChanged(kNow, &actions_);
  EXPECT_EQ(Status(a), kErrTimeout);
}

TEST_F(CollectiveGroupTest, WhatItSharesIsBounded) {
  const RequestId a = Construct(10, kWhole);
  GroupRecord much;
  much.num_shared = 1;
  much.shared = std::string(kMaxSharedOfGroup + 1, 'x');
  Up(CollectiveOp::kGroupConstruct, much);
  EXPECT_EQ(Status(a), kErrOutOfResource);
  EXPECT_EQ(Sent<CollectiveDown>(actions_).back().second.status,
            kErrOutOfResource);
}

TEST_F(CollectiveGroupTest, WhatIsIgnoredIsLoggedOnce) {
  const Procs self = {{"job", 0}};
  const Bytes info = Flags({"pmix.grp.lclid"});
  EXPECT_EQ(Status(Construct(10, self, info, "a")), kSuccess);
  EXPECT_EQ(Status(Construct(10, self, info, "b")), kSuccess);
  const auto lines = All<LogLine>(actions_);
  EXPECT_EQ(std::ranges::count_if(lines,
                                  [](const LogLine& line) {
                                    return line.text.find("pmix.grp.lclid") !=
                                           std::string::npos;
                                  }),
            1);
}

// Each end of a member is looked at once, not all members for each.
TEST(CollectiveGroupGrowth, TheEndsOfManyCostWhatTheyCostAlone) {
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
    engine.OnArrived(kNow, in, &actions);
    for (Rank rank = 1; rank < count; ++rank) {
      jobs.MarkEnded("many", rank);
      engine.OnRankGone(kNow, {"many", rank}, &actions);
    }
    EXPECT_EQ(engine.groups().size(), 1u);
  });
  EXPECT_LT(growth, kAlmostLinear);
}

}  // namespace
}  // namespace canopy::core
