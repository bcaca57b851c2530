#include "server/core/event/invitations.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

using Procs = std::vector<ProcId>;

constexpr int kInvited = -159;
constexpr int kDeclined = -162;
constexpr int kInviteFailed = -163;
constexpr int kAbort = -165;
constexpr int kComplete = -166;
constexpr int kSelected = -167;
constexpr int kLeaderFailed = -168;

// The agent of ranks 0 and 1; ranks 2 and 3 are on other nodes.
class InvitationsTest : public testing::Test {
 protected:
  InvitationsTest() : jobs_(0), invitations_(jobs_) {
    jobs_.Add(JobOn("a", {0, 0, 1, 2}));
    invitations_.set_events(&events_);
  }
  void Event(int status, Rank source, const Procs& targets,
             const std::string& name = "g") {
    Encoder info;
    info.PutSize(1);
    info.PutString("pmix.grp.id");
    info.PutUint32(0);
    info.PutUint16(PMIX_STRING);
    info.PutString(name);
    EventMessage event;
    event.status = status;
    event.source = {"a", source};
    event.request = 7;
    event.targets = targets;
    event.info = Bytes(info.Take());
    invitations_.OnEvent(event);
  }

  CoreEvents events_;
  JobTable jobs_;
  Invitations invitations_;
};

TEST_F(InvitationsTest, TheLeadersEndIsReportedToAllInvitedProcesses) {
  Event(kInvited, 0, {{"a", 1}, {"a", 2}});
  const auto events = invitations_.OnExit({"a", 0});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].status, kLeaderFailed);
  EXPECT_EQ(events[0].source, (ProcId{"a", 0}));
  EXPECT_EQ(events[0].targets, (Procs{{"a", 1}, {"a", 2}}));
  EXPECT_EQ(invitations_.size(), 0u);
}

TEST_F(InvitationsTest, TheLeaderLearnsOfAnInvitedProcessesEnd) {
  Event(kInvited, 2, {{"a", 0}, {"a", 1}});
  const auto events = invitations_.OnExit({"a", 1});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].status, kInviteFailed);
  EXPECT_EQ(events[0].targets, (Procs{{"a", 2}}));
  EXPECT_TRUE(invitations_.OnExit({"a", 1}).empty());
}

TEST_F(InvitationsTest, AProcessThatEndedBeforeTheInvitationIsReported) {
  jobs_.MarkEnded("a", 1);
  jobs_.MarkEnded("a", 3);
  Event(kInvited, 2, {{"a", 0}, {"a", 1}, {"a", 3}});
  const auto due = TakeAll<EventDue>(&events_);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].event.status, kInviteFailed);
  EXPECT_EQ(due[0].event.source, (ProcId{"a", 1}));
  EXPECT_FALSE(due[0].for_all);
}

// An agent that was restarted knows the ends of processes when the invitations
// come again from its neighbours.
TEST_F(InvitationsTest, AnEndHasOneIdentityWhicheverCameFirst) {
  Event(kInvited, 3, {{"a", 1}});
  Event(kInvited, 2, {{"a", 0}, {"a", 1}});
  const auto ended = invitations_.OnExit({"a", 1});
  jobs_.MarkEnded("a", 1);
  Event(kInvited, 2, {{"a", 0}, {"a", 1}});
  Event(kInvited, 3, {{"a", 1}});
  const auto due = TakeAll<EventDue>(&events_);
  ASSERT_EQ(ended.size(), 2u);
  ASSERT_EQ(due.size(), 2u);
  EXPECT_NE(ended[0].id, 0u);
  EXPECT_NE(ended[0].id, ended[1].id);
  EXPECT_EQ(ended[0].id, due[1].event.id);
  EXPECT_EQ(ended[1].id, due[0].event.id);
}

TEST_F(InvitationsTest, TheEndOfAProcessThatDeclinedIsNotReported) {
  Event(kInvited, 2, {{"a", 0}, {"a", 1}});
  Event(kDeclined, 1, {{"a", 2}});
  EXPECT_TRUE(invitations_.OnExit({"a", 1}).empty());
  EXPECT_EQ(invitations_.OnExit({"a", 0}).size(), 1u);
}

TEST_F(InvitationsTest, InvitationsEndWhenTheGroupIsFormedOrAborted) {
  for (const int outcome : {kComplete, kAbort, kLeaderFailed}) {
    Event(kInvited, 2, {{"a", 0}});
    Event(outcome, 2, {{"a", 0}}, "another");
    EXPECT_EQ(invitations_.size(), 1u);
    Event(outcome, 2, {{"a", 0}});
    EXPECT_EQ(invitations_.size(), 0u);
  }
}

TEST_F(InvitationsTest, InvitationsOfOtherNodesAreNotRecorded) {
  Event(kInvited, 2, {{"a", 3}});
  EXPECT_EQ(invitations_.size(), 0u);
}

TEST_F(InvitationsTest, ANewLeaderTakesOverTheInvitation) {
  Event(kSelected, 0, {{"a", 3}});
  EXPECT_EQ(invitations_.OnExit({"a", 0}).size(), 1u);
}

TEST_F(InvitationsTest, TheLossOfANodeIsReportedLikeTheEndsOfItsProcesses) {
  Event(kInvited, 2, {{"a", 0}});
  Event(kInvited, 0, {{"a", 2}, {"a", 3}}, "h");
  const auto events = invitations_.OnLoss(1);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].status, kLeaderFailed);
  EXPECT_EQ(events[1].status, kInviteFailed);
  EXPECT_EQ(invitations_.size(), 1u);
}

TEST_F(InvitationsTest, TheOldestInvitationsAreErased) {
  const Procs many(kMaxInvited, {"a", 1});
  Event(kInvited, 0, {{"a", 1}});
  Event(kInvited, 0, many, "h");
  EXPECT_EQ(invitations_.size(), 1u);
  Event(kInvited, 0, {{"a", 1}}, "i");
  EXPECT_EQ(invitations_.size(), 1u);
}

TEST_F(InvitationsTest, InvitationsEndWithTheirJob) {
  Event(kInvited, 0, {{"a", 1}});
  Actions none;
  invitations_.OnJobRemoved({0, none}, {"a"});
  EXPECT_EQ(invitations_.size(), 0u);
}

TEST_F(InvitationsTest, TimeThatADebuggerHoldsTheInvitedDoesNotCount) {
  constexpr TimeNs kSecond = 1'000'000'000;
  Actions actions;
  GroupCallArrived in;
  in.client = 1;
  in.procs = {{"b", 0}};
  in.timeout_ms = 5000;
  invitations_.OnWait({0, actions}, in);
  jobs_.holds().Note(kSecond, "b", {0, 1, true, kSecond});
  jobs_.holds().Note(3 * kSecond, "b", {0, 2, false, 0});
  invitations_.OnTick({5 * kSecond, actions});
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(invitations_.NextDeadline(), 7 * kSecond);
  invitations_.OnTick({7 * kSecond, actions});
  EXPECT_EQ(All<ReplyClient>(actions).size(), 1u);
}

TEST_F(InvitationsTest, AWaitForAnInvitationEndsAtItsTimeLimit) {
  Actions actions;
  GroupCallArrived in;
  in.client = 1;
  in.request = 7;
  in.timeout_ms = 3;
  invitations_.OnWait({0, actions}, in);
  EXPECT_EQ(invitations_.NextDeadline(), 3'000'000u);
  invitations_.OnTick({2'999'999, actions});
  EXPECT_TRUE(actions.empty());
  invitations_.OnTick({3'000'000, actions});
  ASSERT_EQ(All<ReplyClient>(actions).size(), 1u);
  EXPECT_EQ(All<ReplyClient>(actions)[0].status, kErrTimeout);
  for (size_t i = 0; i <= kMaxWaitsOfClient; ++i) {
    invitations_.OnWait({0, actions}, in);
  }
  EXPECT_EQ(All<ReplyClient>(actions).back().status, kErrOutOfResource);
  Actions none;
  invitations_.OnClientGone({0, none}, 1);
  EXPECT_EQ(invitations_.NextDeadline(), kNever);
}

}  // namespace
}  // namespace canopy::core
