#include "server/core/event/events.h"

#include <gtest/gtest.h>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/event/lifecycle.h"

namespace canopy::core {
namespace {

// Agent 1 of a binary tree of 7; rank 0 of job "job" is on this node.
class EventsTest : public testing::Test {
 protected:
  EventsTest() : tree_(7, 2), jobs_(1), events_(1, tree_, jobs_) {
    jobs_.Add(JobOn("job", {1, 3}));
    jobs_.Connect(10, {"job", 0});
  }

  void WantAll(ClientId client) {
    events_.OnWanted({0, actions_}, {client, 1, true, {}});
    actions_.clear();
  }
  EventMessage Message(NodeId origin, uint64_t number) {
    EventMessage message;
    message.origin = origin;
    message.number = number;
    message.status = -500;
    message.source = {"job", 1};
    message.range = static_cast<uint8_t>(DataRange::kGlobal);
    return message;
  }

  Tree tree_;
  JobTable jobs_;
  Events events_;
  Actions actions_;
};

TEST_F(EventsTest, AnEventIsForwardedOnceAndNotBack) {
  WantAll(10);
  events_.OnMessage({0, actions_}, 3, Message(3, 5));
  const auto sent = Sent<EventMessage>(actions_);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].first, 4u);
  EXPECT_EQ(sent[1].first, 0u);
  EXPECT_EQ(All<NotifyClient>(actions_).size(), 1u);
  actions_.clear();
  events_.OnMessage({0, actions_}, 0, Message(3, 5));
  EXPECT_TRUE(actions_.empty());
  events_.OnMessage({0, actions_}, 0, Message(3, 4));
  EXPECT_EQ(All<NotifyClient>(actions_).size(), 1u);
}

TEST_F(EventsTest, AnEventRaisedAgainByASuccessorIsADuplicate) {
  WantAll(10);
  EventMessage message = Message(3, 5);
  message.request = 77;
  events_.OnMessage({0, actions_}, 3, message);
  EXPECT_EQ(All<NotifyClient>(actions_)[0].event->id,
            (EventId{{"job", 1}, 77}));
  actions_.clear();
  message.number = 6;
  events_.OnMessage({0, actions_}, 3, message);
  EXPECT_TRUE(actions_.empty());
}

TEST_F(EventsTest, AnEventDoesNotReachOtherUsers) {
  JobSpec spec = *JobOn("theirs", {1, 3});
  spec.uid = 8;
  jobs_.Add(std::make_shared<JobSpec>(std::move(spec)));
  jobs_.Connect(11, {"theirs", 0});
  WantAll(10);
  WantAll(11);
  EventMessage message = Message(3, 5);
  const auto receivers = [&] {
    std::vector<ClientId> clients;
    for (const NotifyClient& one : All<NotifyClient>(actions_)) {
      clients.push_back(one.client);
    }
    actions_.clear();
    return clients;
  };
  message.source = {"theirs", 1};
  message.user = 9;
  events_.OnMessage({0, actions_}, 3, message);
  EXPECT_EQ(receivers(), std::vector<ClientId>{11});
  // Events of agents and of root's processes are for everyone.
  for (const uint64_t user : {0, 1}) {
    ++message.number;
    message.user = user;
    events_.OnMessage({0, actions_}, 3, message);
    EXPECT_EQ(receivers(), (std::vector<ClientId>{10, 11})) << user;
  }
  // Jobs that were connected get each other's events.
  jobs_.NoteMet({{"job", 0}, {"theirs", 0}});
  ++message.number;
  message.user = 9;
  events_.OnMessage({0, actions_}, 3, message);
  EXPECT_EQ(receivers(), (std::vector<ClientId>{10, 11}));
}

TEST_F(EventsTest, AnEventHasTheUserOfItsProcess) {
  JobSpec spec = *JobOn("theirs", {1});
  spec.uid = 8;
  jobs_.Add(std::make_shared<JobSpec>(std::move(spec)));
  jobs_.Connect(11, {"theirs", 0});
  EventRaised in;
  in.client = 11;
  in.range = static_cast<uint8_t>(DataRange::kGlobal);
  events_.OnRaised({1, actions_}, in);
  EXPECT_EQ(Sent<EventMessage>(actions_).at(0).second.user, 9u);
}

TEST_F(EventsTest, AnAgentsEventHasTheUserThatTheAgentNames) {
  EventRaised in;
  in.id = kAgentsEvent | 1;
  in.source = {"job", 0};
  in.range = static_cast<uint8_t>(DataRange::kGlobal);
  for (const uint64_t user : {0, 9}) {
    ++in.id;
    in.user = user;
    actions_.clear();
    events_.OnRaised({1, actions_}, in);
    EXPECT_EQ(Sent<EventMessage>(actions_).at(0).second.user, user);
  }
}

TEST_F(EventsTest, AnEventRaisedTwiceIsAnsweredTwice) {
  EventRaised in;
  in.client = 10;
  in.request = in.id = 8;
  in.range = static_cast<uint8_t>(DataRange::kGlobal);
  events_.OnRaised({1, actions_}, in);
  EXPECT_FALSE(Sent<EventMessage>(actions_).empty());
  actions_.clear();
  events_.OnRaised({2, actions_}, in);
  ASSERT_EQ(actions_.size(), 1u);
  EXPECT_EQ(All<ReplyClient>(actions_)[0].status, kSuccess);
}

TEST_F(EventsTest, AProcessDoesNotGetItsOwnEventFromANeighbour) {
  WantAll(10);
  EventMessage message = Message(1, 5);
  message.source = {"job", 0};
  message.request = 77;
  events_.OnMessage({0, actions_}, 3, message);
  EXPECT_TRUE(All<NotifyClient>(actions_).empty());
  message.request = kAgentsEvent | 77;
  events_.OnMessage({0, actions_}, 3, message);
  EXPECT_EQ(All<NotifyClient>(actions_).size(), 1u);
}

TEST_F(EventsTest, AnEventOfAClientNeverHasANumberOfAnAgent) {
  EventRaised in;
  in.client = 10;
  in.id = kAgentsEvent | 5;
  in.range = static_cast<uint8_t>(DataRange::kGlobal);
  events_.OnRaised({1, actions_}, in);
  EXPECT_EQ(Sent<EventMessage>(actions_)[0].second.request, 5u);
}

TEST_F(EventsTest, AnEventWithTooManyInfoBytesIsRefused) {
  EventRaised in;
  in.client = 10;
  in.range = static_cast<uint8_t>(DataRange::kGlobal);
  in.info = Bytes(std::string(kMaxEventInfo + 1, 'x'));
  events_.OnRaised({1, actions_}, in);
  ASSERT_EQ(actions_.size(), 1u);
  EXPECT_EQ(All<ReplyClient>(actions_)[0].status, kErrOutOfResource);
}

Bytes DoNotCache(bool value) {
  Encoder encoder;
  encoder.PutSize(2);
  encoder.PutString("some.key");
  encoder.PutUint32(0);
  encoder.PutUint16(PMIX_STRING);
  encoder.PutString("text");
  encoder.PutString("pmix.evnocache");
  encoder.PutUint32(0);
  encoder.PutUint16(PMIX_BOOL);
  encoder.PutBool(value);
  return Bytes(encoder.Take());
}

TEST_F(EventsTest, AKeptEventIsRecognisedAfterManyOthers) {
  events_.OnMessage({0, actions_}, 3, Message(3, 5));
  EventMessage passing = Message(4, 0);
  passing.info = DoNotCache(true);
  for (uint64_t i = 1; i <= kRecentEvents + 1; ++i) {
    passing.number = i;
    events_.OnMessage({0, actions_}, 4, passing);
  }
  actions_.clear();
  events_.OnMessage({0, actions_}, 0, Message(3, 5));
  EXPECT_TRUE(actions_.empty());
}

TEST_F(EventsTest, TooManyReceiversAreRefused) {
  EventRaised in;
  in.client = 10;
  in.range = static_cast<uint8_t>(DataRange::kCustom);
  in.targets.assign(kMaxEventTargets + 1, {"job", 1});
  events_.OnRaised({1, actions_}, in);
  EXPECT_EQ(All<ReplyClient>(actions_)[0].status, kErrOutOfResource);
}

TEST_F(EventsTest, ARestartedNeighbourGetsTheKeptEvents) {
  EventMessage own = Message(3, 5);
  events_.OnMessage({0, actions_}, 3, own);
  events_.OnMessage({0, actions_}, 0, Message(6, 5));
  actions_.clear();
  events_.OnNodeRestarted({0, actions_}, 3);
  EXPECT_EQ(Sent<EventMessage>(actions_).size(), 2u);
  actions_.clear();
  events_.OnNodeRestarted({0, actions_}, 6);
  EXPECT_TRUE(actions_.empty());
}

TEST_F(EventsTest, AClientsEventIsPersisted) {
  events_.set_persists(true);
  EventRaised in;
  in.client = 10;
  in.request = in.id = 8;
  in.status = -500;
  in.range = static_cast<uint8_t>(DataRange::kLocal);
  events_.OnRaised({1, actions_}, in);
  const auto records = All<PersistRecord>(actions_);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].nspace, "job");

  jobs_.Connect(11, {"job", 0});
  Events successor(1, tree_, jobs_);
  actions_.clear();
  successor.Recover({0, actions_}, "job", {records[0].key, records[0].value});
  // No message is sent, because the event stays on its node.
  EXPECT_TRUE(actions_.empty());
  in.client = 11;
  successor.OnRaised({2, actions_}, in);
  EXPECT_EQ(actions_.size(), 1u);
}

TEST_F(EventsTest, EventNumbersGrowWithTime) {
  EventRaised in;
  in.range = static_cast<uint8_t>(DataRange::kGlobal);
  events_.OnRaised({1000, actions_}, in);
  events_.OnRaised({1000, actions_}, in);
  const auto sent = Sent<EventMessage>(actions_);
  EXPECT_GE(sent.front().second.number, 1000u);
  EXPECT_GT(sent.back().second.number, sent.front().second.number);
}

TEST_F(EventsTest, UnknownClientsAreRefused) {
  events_.OnWanted({0, actions_}, {99, 7, true, {}});
  EventRaised in;
  in.client = 99;
  in.request = 8;
  events_.OnRaised({1, actions_}, in);
  const auto replies = All<ReplyClient>(actions_);
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].status, kErrInit);
  EXPECT_EQ(replies[1].status, kErrInit);
  EXPECT_EQ(actions_.size(), 2u);
}

TEST_F(EventsTest, TheSourceIsAlwaysTheClientsProcess) {
  EventRaised in;
  in.client = 10;
  in.source = {"job", 1};
  in.range = static_cast<uint8_t>(DataRange::kGlobal);
  events_.OnRaised({1, actions_}, in);
  EXPECT_EQ(Sent<EventMessage>(actions_)[0].second.source, (ProcId{"job", 0}));
}

TEST_F(EventsTest, ACustomRangeNamesItsReceivers) {
  EventRaised in;
  in.client = 10;
  in.range = static_cast<uint8_t>(DataRange::kCustom);
  events_.OnRaised({1, actions_}, in);
  ASSERT_EQ(actions_.size(), 1u);
  EXPECT_EQ(All<ReplyClient>(actions_)[0].status, kErrBadParam);
}

TEST_F(EventsTest, TheNumberOfKeptEventsIsLimited) {
  for (uint64_t i = 1; i <= kMaxCachedEvents + 10; ++i) {
    events_.OnMessage({0, actions_}, 3, Message(3, i));
  }
  actions_.clear();
  events_.OnWanted({0, actions_}, {10, 1, true, {}});
  EXPECT_EQ(All<NotifyClient>(actions_).size(), kMaxCachedEvents);
  // The reply comes before the first event.
  EXPECT_TRUE(std::holds_alternative<ReplyClient>(actions_.front()));
}

TEST_F(EventsTest, EventsWithDoNotCacheAreNotKept) {
  EventMessage message = Message(3, 1);
  message.info = DoNotCache(true);
  events_.OnMessage({0, actions_}, 3, message);
  message.number = 2;
  message.info = DoNotCache(false);
  events_.OnMessage({0, actions_}, 3, message);
  actions_.clear();
  events_.OnWanted({0, actions_}, {10, 1, true, {}});
  EXPECT_EQ(All<NotifyClient>(actions_).size(), 1u);
}

TEST_F(EventsTest, AReleaseWithoutTargetsIsNotKept) {
  EventMessage release = Message(3, 5);
  release.status = -3;
  release.range = static_cast<uint8_t>(DataRange::kSession);
  events_.OnMessage({0, actions_}, 3, release);
  EXPECT_EQ(Sent<EventMessage>(actions_).size(), 2u) << "it goes everywhere";
  actions_.clear();
  events_.OnWanted({0, actions_}, {10, 1, true, {}});
  EXPECT_TRUE(All<NotifyClient>(actions_).empty());
  actions_.clear();
  release.number = 6;
  release.range = static_cast<uint8_t>(DataRange::kCustom);
  release.targets = {{"job", kRankWildcard}};
  jobs_.Connect(11, {"job", 0});
  events_.OnMessage({0, actions_}, 3, release);
  actions_.clear();
  events_.OnWanted({0, actions_}, {11, 1, true, {}});
  EXPECT_EQ(All<NotifyClient>(actions_).size(), 1u);
}

// The debugger was a job, which has ended. Its release still reaches processes
// that stop later.
TEST_F(EventsTest, AReleaseWithTargetsOutlivesItsJob) {
  EventMessage release = Message(3, 1);
  release.source = {"debugger", 0};
  release.status = -3;
  release.range = static_cast<uint8_t>(DataRange::kCustom);
  release.targets = {{"job", kRankWildcard}};
  jobs_.Connect(11, {"job", 0});
  events_.OnMessage({0, actions_}, 3, release);
  events_.OnJobRemoved({0, actions_}, {"debugger"});
  actions_.clear();
  events_.OnWanted({0, actions_}, {11, 1, false, {-3}});
  EXPECT_EQ(All<NotifyClient>(actions_).size(), 1u);
}

TEST_F(EventsTest, KeptEventsEndWithTheirJob) {
  events_.OnMessage({0, actions_}, 3, Message(3, 1));
  events_.OnJobRemoved({0, actions_}, {"job"});
  actions_.clear();
  events_.OnWanted({0, actions_}, {10, 1, true, {}});
  EXPECT_TRUE(All<NotifyClient>(actions_).empty());
}

// The agent was restarted, and the job ended before the process reattached. The
// process had registered for events with the predecessor.
TEST_F(EventsTest, AReattachedClientGetsEventsOfAnEndedJob) {
  jobs_.Connect(11, {"job", 0});
  events_.OnMessage({0, actions_}, 3, Message(3, 1));
  events_.OnJobRemoved({0, actions_}, {"job"});
  actions_.clear();
  events_.OnReattached(11);
  events_.OnWanted({0, actions_}, {10, 1, true, {}});
  events_.OnWanted({0, actions_}, {11, 1, true, {}});
  const auto told = All<NotifyClient>(actions_);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].client, 11u);
  // A neighbour that was restarted meanwhile also gets the event.
  actions_.clear();
  events_.OnNodeRestarted({0, actions_}, 4);
  EXPECT_EQ(Sent<EventMessage>(actions_).size(), 1u);
}

TEST_F(EventsTest, OtherSessionsGetNoEvents) {
  auto other = std::make_shared<JobSpec>(*JobOn("other", {1}));
  other->session_id = 9;
  jobs_.Add(other);
  jobs_.Connect(20, {"other", 0});
  WantAll(10);
  WantAll(20);
  EventMessage message = Message(3, 1);
  message.range = static_cast<uint8_t>(DataRange::kSession);
  events_.OnMessage({0, actions_}, 3, message);
  const auto told = All<NotifyClient>(actions_);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].client, 10u);
}

// ------------------------------------------------------ lifecycle events ---

EventRaised EndOf(Rank rank) {
  const int code = 0;
  return ProcLifecycleEvent({"job", rank}, 0, kEventProcTerminated, &code, {});
}

class LifecycleTest : public EventsTest {
 protected:
  // Sets whether the neighbour has an interest in events of processes.
  void Interested(NodeId node, bool interested) {
    const uint32_t codes = interested ? LifecycleBit(kEventProcTerminated) : 0;
    events_.OnMessage({0, actions_}, node,
                      Interest::Encode(node, ++number_, codes));
  }
  // Returns the receivers of events and clears the actions.
  std::vector<NodeId> SentTo() {
    std::vector<NodeId> out;
    for (const auto& [to, message] : Sent<EventMessage>(actions_)) {
      if (!Interest::IsEncoded(message)) out.push_back(to);
    }
    actions_.clear();
    return out;
  }

  uint64_t number_ = 0;
};

TEST_F(LifecycleTest, AnEventWithoutInterestCostsNoMessage) {
  WantAll(10);
  events_.OnRaised({1, actions_}, EndOf(1));
  EXPECT_TRUE(actions_.empty());
}

TEST_F(LifecycleTest, OnlyClientsThatNameTheCodeGetTheEvent) {
  events_.OnRaised({1, actions_}, EndOf(1));
  events_.OnWanted({0, actions_}, {10, 1, true, {}});
  EXPECT_TRUE(All<NotifyClient>(actions_).empty());
  actions_.clear();
  events_.OnWanted({0, actions_}, {10, 1, false, {kEventProcTerminated}});
  ASSERT_EQ(All<NotifyClient>(actions_).size(), 1u);
  EXPECT_EQ(All<NotifyClient>(actions_)[0].event->source, (ProcId{"job", 1}));
  // The neighbours are notified once when the code is registered here, and once
  // when it is deregistered.
  EXPECT_EQ(Sent<EventMessage>(actions_).size(), 3u);
  actions_.clear();
  events_.OnWanted({0, actions_}, {10, 2, false, {kEventProcTerminated}});
  EXPECT_TRUE(Sent<EventMessage>(actions_).empty());
  events_.OnClientGone({0, actions_}, 10);
  EXPECT_EQ(Sent<EventMessage>(actions_).size(), 3u);
}

TEST_F(LifecycleTest, AnEventIsSentOnceToEachInterestedNeighbour) {
  Interested(3, true);
  actions_.clear();
  events_.OnRaised({1, actions_}, EndOf(0));
  EXPECT_EQ(SentTo(), std::vector<NodeId>{3});
  events_.OnRaised({2, actions_}, EndOf(0));
  EXPECT_TRUE(SentTo().empty());
  // A neighbour with a new interest gets the kept events that it has not
  // received.
  Interested(0, true);
  EXPECT_EQ(SentTo(), std::vector<NodeId>{0});
  Interested(3, false);
  Interested(3, true);
  EXPECT_TRUE(SentTo().empty());
}

TEST_F(LifecycleTest, ARestartedNeighbourGetsTheEventAgain) {
  Interested(3, true);
  events_.OnRaised({1, actions_}, EndOf(0));
  SentTo();
  events_.OnNodeRestarted({0, actions_}, 3);
  EXPECT_TRUE(SentTo().empty());
  Interested(3, true);
  EXPECT_EQ(SentTo(), std::vector<NodeId>{3});
}

TEST_F(LifecycleTest, ANewNeighbourGetsTheEventAfterTheLossOfAnother) {
  Interested(3, true);
  events_.OnRaised({1, actions_}, EndOf(0));
  actions_.clear();
  tree_.SetAlive(3, false);
  events_.OnTreeChanged({0, actions_});
  Interested(4, true);
  EXPECT_EQ(SentTo(), std::vector<NodeId>{4});
}

TEST_F(LifecycleTest, AProcessThatTheEventExceptsIsNotNotified) {
  events_.OnWanted({0, actions_}, {10, 1, false, {kEventProcTerminated}});
  actions_.clear();
  EventRaised end = EndOf(1);
  end.targets = {{"job", 0}};
  events_.OnRaised({1, actions_}, end);
  EXPECT_TRUE(All<NotifyClient>(actions_).empty());
}

TEST_F(LifecycleTest, LifecycleEventsOfAJobOutliveIt) {
  events_.OnRaised({1, actions_}, EndOf(1));
  events_.OnRaised(
      {1, actions_},
      JobLifecycleEvent("over", kEventJobEnd,
                        LifecycleInfo({"over", kRankWildcard}, nullptr), {}));
  events_.OnJobRemoved({0, actions_}, {"over"});
  events_.OnWanted({0, actions_},
                   {10, 1, false, {kEventProcTerminated, kEventJobEnd}});
  EXPECT_EQ(All<NotifyClient>(actions_).size(), 2u);
}

// The definition of a process set is raised in the name of the job, as
// lifecycle events are.
TEST_F(LifecycleTest, EventsThatAreNotOfTheLifecycleEndWithTheirJob) {
  constexpr int kSetDefined = -55;
  EventMessage message = Message(3, 1);
  message.source = {"job", kRankWildcard};
  message.request = kAgentsEvent | uint64_t{1} << 61;
  message.status = kSetDefined;
  EXPECT_TRUE(events_.OnMessage({0, actions_}, 3, message));
  EXPECT_EQ(SentTo(), (std::vector<NodeId>{4, 0}));
  events_.OnJobRemoved({0, actions_}, {"job"});
  events_.OnWanted({0, actions_}, {10, 1, true, {}});
  EXPECT_TRUE(All<NotifyClient>(actions_).empty());
}

TEST_F(LifecycleTest, LifecycleEventsDoNotEvictEventsOfProcesses) {
  events_.OnMessage({0, actions_}, 3, Message(3, 1));
  for (uint32_t n = 0; n < kMaxCachedEvents + 1; ++n) {
    events_.OnRaised(
        {1, actions_},
        ProcLifecycleEvent({"job", 1}, n, kEventProcTerminated, nullptr, {}));
  }
  actions_.clear();
  WantAll(10);
  events_.OnWanted({0, actions_}, {10, 1, false, {kEventProcTerminated}});
  EXPECT_EQ(All<NotifyClient>(actions_).size(), kMaxCachedEvents);
}

// ---------------------------------------------------------------- losses ---

TEST_F(EventsTest, ALossThatEveryAgentRaisesIsDeliveredOnce) {
  WantAll(10);
  EventRaised lost;
  lost.id = IdOfLoss(0);
  lost.status = kErrProcAborted;
  lost.source = {"job", 1};
  lost.range = static_cast<uint8_t>(DataRange::kNamespace);
  events_.OnKnownEverywhere({1, actions_}, lost);
  EXPECT_EQ(All<NotifyClient>(actions_).size(), 1u);
  EXPECT_TRUE(Sent<EventMessage>(actions_).empty());
  actions_.clear();
  events_.OnKnownEverywhere({2, actions_}, lost);
  EXPECT_TRUE(actions_.empty());
  // An agent that was restarted gets the event from its neighbours.
  events_.OnNodeRestarted({0, actions_}, 3);
  const auto sent = Sent<EventMessage>(actions_);
  ASSERT_EQ(sent.size(), 1u);
  Events successor(3, tree_, jobs_);
  Actions theirs;
  EXPECT_TRUE(successor.OnMessage({0, theirs}, 1, sent[0].second));
  EXPECT_TRUE(theirs.empty());
  successor.OnKnownEverywhere({3, theirs}, lost);
  EXPECT_TRUE(theirs.empty());
}

TEST_F(EventsTest, TheLossOfANodeIsDeliveredToClientsThatNameItsCode) {
  WantAll(10);
  const EventRaised down = NodeLifecycleEvent({"agents", 5}, "n5", 7, false);
  events_.OnKnownEverywhere({1, actions_}, down);
  EXPECT_TRUE(actions_.empty());
  events_.OnWanted({0, actions_}, {10, 1, false, {kEventNodeDown}});
  EXPECT_EQ(All<NotifyClient>(actions_).size(), 1u);
  EXPECT_TRUE(Sent<EventMessage>(actions_).empty());
}

TEST_F(EventsTest, EventsOfLocalRangesFromTheNetworkAreIgnored) {
  WantAll(10);
  for (const DataRange range :
       {DataRange::kLocal, DataRange::kProcLocal, DataRange::kRm}) {
    EventMessage message = Message(3, 1);
    message.range = static_cast<uint8_t>(range);
    events_.OnMessage({0, actions_}, 3, message);
  }
  EXPECT_TRUE(actions_.empty());
}

TEST(AffectedProc, AffectedProcInfoContainsTheProcessAndItsExitCode) {
  const int code = 11;
  const Bytes info = AffectedProcInfo({"job", 4}, &code);
  Decoder decoder(info.view());
  size_t count = 0;
  ASSERT_TRUE(decoder.GetSize(&count));
  ASSERT_EQ(count, 2u);
  pmix_info_t first = {};
  pmix_info_t second = {};
  ASSERT_TRUE(decoder.GetInfo(&first));
  ASSERT_TRUE(decoder.GetInfo(&second));
  EXPECT_TRUE(decoder.done());
  EXPECT_STREQ(first.key, "pmix.evproc");
  ASSERT_EQ(first.value.type, PMIX_PROC);
  EXPECT_STREQ(first.value.data.proc->nspace, "job");
  EXPECT_EQ(first.value.data.proc->rank, 4u);
  EXPECT_STREQ(second.key, "pmix.exit.code");
  EXPECT_EQ(second.value.data.integer, 11);
  free(first.value.data.proc);
}

TEST_F(EventsTest, ToolsGetEventsOfTheSessionAndGlobalRanges) {
  ASSERT_TRUE(jobs_.ConnectTool(20, {"tool", 0}, {}));
  WantAll(20);
  events_.OnMessage({0, actions_}, 3, Message(3, 5));
  ASSERT_EQ(All<NotifyClient>(actions_).size(), 1u);
  EXPECT_EQ(All<NotifyClient>(actions_)[0].client, 20u);
  actions_.clear();
  EventMessage inside = Message(3, 6);
  inside.range = static_cast<uint8_t>(DataRange::kNamespace);
  events_.OnMessage({0, actions_}, 3, inside);
  EXPECT_TRUE(All<NotifyClient>(actions_).empty());
}

}  // namespace
}  // namespace canopy::core
