// Construction and destruction of process groups, at one agent.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/status.h"
#include "server/core/collective/collective.h"
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
                 const Bytes& info = {}, const std::string& name = "g") {
    CollectiveArrived in;
    in.op = op;
    in.client = client;
    in.request = ++request_;
    in.participants = std::move(procs);
    in.info = info;
    in.name = name;
    engine_->OnArrived(kNow, in, &actions_);
    return in.request;
  }
  RequestId Construct(ClientId client, Procs procs, const Bytes& info = {},
                      const std::string& name = "g") {
    return Call(CollectiveOp::kGroupConstruct, client, std::move(procs), info,
                name);
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
  engine_->OnNodeIsOld(3, true);
  EXPECT_EQ(Status(Construct(10, kWhole)), kErrNotSupported);
  EXPECT_EQ(Status(Construct(10, {{"job", 0}})), kSuccess);
  engine_->OnNodeIsOld(3, false);
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
  EXPECT_TRUE(engine_->OnLeft(kNow, {"job", 1}, "g", &actions_));
  EXPECT_FALSE(engine_->OnLeft(kNow, {"job", 1}, "g", &actions_));
  EXPECT_EQ(Status(Destruct(11)), kErrNotFound);
  EXPECT_EQ(Status(Destruct(11, kWhole)), kErrNotFound);
  const RequestId a = Destruct(10);
  EXPECT_EQ(Status(a), kNone);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kSuccess);
}

TEST_F(CollectiveGroupTest, WhoHasLeftMayEnd) {
  MakeGroup();
  EXPECT_TRUE(engine_->OnLeft(kNow, {"job", 2}, "g", &actions_));
  const RequestId a = Destruct(10);
  Destruct(11);
  jobs_.MarkEnded("job", 2);
  engine_->OnRankGone(kNow, {"job", 2}, &actions_);
  EXPECT_EQ(Status(a), kNone);
  Up(CollectiveOp::kGroupDestruct);
  EXPECT_EQ(Status(a), kSuccess);
}

TEST_F(CollectiveGroupTest, OfALostNodeItIsAFailureAnyhow) {
  MakeGroup();
  EXPECT_TRUE(engine_->OnLeft(kNow, {"job", 2}, "g", &actions_));
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
  EXPECT_TRUE(engine_->OnLeft(kNow, {"job", 1}, "g", &actions_));
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
  engine_->OnLeft(kNow, {"job", 1}, "g", &actions_);
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

}  // namespace
}  // namespace canopy::core
