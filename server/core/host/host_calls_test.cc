#include "server/core/host/host_calls.h"

#include <gtest/gtest.h>

#include <set>

#include "common/codec/encoder.h"
#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/pset/process_sets.h"
#include "server/core/step/control_inputs.h"
#include "server/core/tree.h"

namespace canopy::core {
namespace {

class HostCallsTest : public testing::Test {
 protected:
  HostCallsTest() {
    auto job = std::make_shared<JobSpec>(*JobOn("job", {0, 1}));
    job->uid = 17;
    job->gid = 18;
    jobs_.Add(std::move(job));
    jobs_.Connect(5, {"job", 0});
  }

  Actions Arrive(ClientId client, RequestId request) {
    Actions actions;
    calls_.OnArrived({0, actions},
                     {client, request, HostOp::kLog, {}, Bytes("call")});
    return actions;
  }

  Tree tree_{1, 2};
  JobTable jobs_{0};
  JobEngine engine_{0, {"a"}, tree_, jobs_};
  ProcessSets sets_{jobs_};
  HostCalls calls_{0, tree_, jobs_, engine_, sets_};
};

TEST_F(HostCallsTest, ACallIsSentToTheHostAndAnsweredToItsCaller) {
  const Actions asked = Arrive(5, 9);
  ASSERT_EQ(All<AskHost>(asked).size(), 1u);
  const AskHost ask = All<AskHost>(asked)[0];
  EXPECT_EQ(ask.op, HostOp::kLog);
  EXPECT_EQ(ask.source, (ProcId{"job", 0}));
  EXPECT_EQ(ask.request, 9u);
  EXPECT_EQ(ask.uid, 17u);
  EXPECT_EQ(ask.gid, 18u);
  EXPECT_EQ(ask.call.view(), "call");
  Actions answered;
  calls_.OnAnswered({0, answered},
                    {ask.number, kErrNotFound, Bytes("results")});
  ASSERT_EQ(All<ReplyClient>(answered).size(), 1u);
  const ReplyClient reply = All<ReplyClient>(answered)[0];
  EXPECT_EQ(reply.client, 5u);
  EXPECT_EQ(reply.request, 9u);
  EXPECT_EQ(reply.status, kErrNotFound);
  EXPECT_EQ(reply.payload.view(), "results");
  EXPECT_EQ(calls_.size(), 0u);
}

TEST_F(HostCallsTest, ARepeatedCallHasTheSameRequestNumber) {
  const AskHost first = All<AskHost>(Arrive(5, 9)).at(0);
  Actions none;
  calls_.OnClientGone({0, none}, 5);
  jobs_.Connect(6, {"job", 0});
  const AskHost second = All<AskHost>(Arrive(6, 9)).at(0);
  EXPECT_EQ(second.source, first.source);
  EXPECT_EQ(second.request, first.request);
  EXPECT_NE(second.number, first.number);
  Actions actions;
  calls_.OnAnswered({0, actions}, {first.number, kSuccess, {}});
  EXPECT_TRUE(actions.empty()) << "nobody waits for it any more";
  calls_.OnAnswered({0, actions}, {second.number, kSuccess, {}});
  calls_.OnAnswered({0, actions}, {second.number, kError, {}});
  ASSERT_EQ(All<ReplyClient>(actions).size(), 1u);
  EXPECT_EQ(All<ReplyClient>(actions)[0].client, 6u);
}

TEST_F(HostCallsTest, WaitingCallsAreReportedWithAgeAndCallers) {
  Arrive(5, 9);
  std::vector<Waiting> waiting;
  calls_.Describe(7'000'000, "other", &waiting);
  EXPECT_TRUE(waiting.empty());
  calls_.Describe(7'000'000, "job", &waiting);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].operation, "an answer of the host");
  EXPECT_EQ(waiting[0].age_ms, 7u);
  EXPECT_EQ(waiting[0].callers, 1u);
}

TEST_F(HostCallsTest, CallsOfUnknownClientsAreRefused) {
  const Actions actions = Arrive(6, 1);
  EXPECT_TRUE(All<AskHost>(actions).empty());
  EXPECT_EQ(All<ReplyClient>(actions).at(0).status, kErrInit);
}

TEST_F(HostCallsTest, AToolCallsWithTheRightsOfItsOwner) {
  ASSERT_TRUE(jobs_.ConnectTool(6, {"tool", 0}, {27, 28}));
  const Actions asked = Arrive(6, 9);
  ASSERT_EQ(All<AskHost>(asked).size(), 1u);
  EXPECT_EQ(All<AskHost>(asked)[0].source, (ProcId{"tool", 0}));
  EXPECT_EQ(All<AskHost>(asked)[0].uid, 27u);
  EXPECT_EQ(All<AskHost>(asked)[0].gid, 28u);
  Actions monitored;
  calls_.OnArrived({0, monitored},
                   {6, 10, HostOp::kMonitor, {}, Bytes("call")});
  EXPECT_EQ(All<AskHost>(monitored).size(), 1u);
}

TEST_F(HostCallsTest, PendingCallsOfAProcessAreLimited) {
  for (size_t i = 0; i < kMaxHostCalls; ++i) {
    EXPECT_EQ(All<AskHost>(Arrive(5, i + 1)).size(), 1u);
  }
  const Actions refused = Arrive(5, 1000);
  EXPECT_EQ(All<ReplyClient>(refused).at(0).status, kErrOutOfResource);
  Actions none;
  calls_.OnClientGone({0, none}, 5);
  EXPECT_EQ(calls_.size(), 0u);
}

// ------------------------------------------------------------ job control ---

Bytes Directive(const std::string& key, int signal = 0) {
  Encoder out;
  out.PutSize(1);
  out.PutString(key);
  out.PutUint32(0);
  out.PutUint16(signal == 0 ? PMIX_BOOL : PMIX_INT);
  if (signal == 0) {
    out.PutBool(true);
  } else {
    out.PutInt(signal);
  }
  return Bytes(out.Take());
}

const Bytes kSignal10 = Directive("pmix.jctrl.sig", 10);

// One of three agents, of which agent 0 is the root and controls the jobs.
struct Agent {
  explicit Agent(NodeId self)
      : tree(3, 2),
        table(self),
        engine(self, {"a", "b", "c"}, tree, table),
        sets(table),
        calls(self, tree, table, engine, sets) {}

  std::shared_ptr<const JobSpec> Spec(const std::string& nspace,
                                      const std::vector<NodeId>& agents,
                                      uint32_t uid = 7) const {
    auto spec = std::make_shared<JobSpec>(*JobOn(nspace, agents));
    spec->uid = uid;
    return spec;
  }
  void Connect(const std::vector<NodeId>& agents) {
    table.Add(Spec("mine", agents));
    table.Connect(5, {"mine", 0});
  }
  // Launches "job", which this agent controls, with one rank on each of
  // `agents`.
  void Control(const std::vector<NodeId>& agents, uint32_t uid = 7) {
    engine.OnLaunchRequested({now, out}, {Spec("job", agents, uid)});
    for (const NodeId node : std::set<NodeId>(agents.begin(), agents.end())) {
      engine.OnPeer({now, out}, {node, 0, JobPrepared{"job", 1, {}}});
    }
    for (const NodeId node : std::set<NodeId>(agents.begin(), agents.end())) {
      engine.OnPeer({now, out}, {node, 0, JobStarted{"job", 1, {}}});
    }
    out.clear();
  }
  HostRequest Request(std::vector<ProcId> targets, Bytes call = kSignal10) {
    return {{"mine", 0}, 9,     HostOp::kJobControl, 7,
            7,           "job", std::move(targets),  std::move(call)};
  }
  void Call(std::vector<ProcId> targets, Bytes call = kSignal10) {
    calls.OnArrived({now, out}, {5, 9, HostOp::kJobControl, std::move(targets),
                                 std::move(call)});
  }
  std::vector<int> Replies() const {
    std::vector<int> statuses;
    for (const ReplyClient& reply : All<ReplyClient>(out)) {
      statuses.push_back(reply.status);
    }
    return statuses;
  }

  Tree tree;
  JobTable table;
  JobEngine engine;
  ProcessSets sets;
  HostCalls calls;
  TimeNs now = 1000;
  Actions out;
};

TEST(JobControlCalls, SendsOneRequestForEachJobAndRepliesOnce) {
  Agent agent(1);
  agent.Connect({1, 2});
  agent.Call({{"", 1}, {"other", 2}, {"other", 4}});
  const auto sent = Sent<HostRequest>(agent.out);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].first, 0u);
  EXPECT_EQ(sent[0].second.targets, (std::vector<ProcId>{{"mine", 1}}));
  EXPECT_EQ(sent[1].second.targets.size(), 2u);
  EXPECT_EQ(sent[1].second.uid, 7u);
  agent.calls.OnReply({0, agent.out}, 0,
                      {{"mine", 0}, 9, "mine", kSuccess, {}});
  // A reply is ignored if it comes from an agent that got no request.
  agent.calls.OnReply({0, agent.out}, 2,
                      {{"mine", 0}, 9, "other", kSuccess, {}});
  EXPECT_TRUE(agent.Replies().empty());
  agent.calls.OnTreeChanged({agent.now, agent.out});
  EXPECT_EQ(Sent<HostRequest>(agent.out).size(), 3u);
  std::vector<Waiting> waiting;
  agent.calls.Describe(agent.now, "mine", &waiting);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].operation, "job control of other");
  agent.calls.OnReply({0, agent.out}, 0,
                      {{"mine", 0}, 9, "other", kErrNotFound, {}});
  EXPECT_EQ(agent.Replies(), std::vector<int>{kErrNotFound});
  EXPECT_EQ(agent.calls.size(), 0u);
}

TEST(JobControlCalls, InvalidCallsAreRefusedLocally) {
  Agent agent(1);
  agent.Connect({1, 2});
  agent.table.Add(agent.Spec("yours", {1}, 8));
  agent.Call({{"yours", 0}});
  agent.Call({{"mine", 2}});
  agent.Call({}, Directive("pmix.jctrl.restart"));
  agent.Call({}, Bytes(std::string("x")));
  EXPECT_EQ(agent.Replies(),
            (std::vector<int>{kErrNoPermissions, kErrNotFound, kErrNotSupported,
                              kErrBadParam}));
  EXPECT_EQ(All<LogLine>(agent.out).size(), 1u);
  EXPECT_TRUE(Sent<HostRequest>(agent.out).empty());
  EXPECT_EQ(agent.calls.size(), 0u);
}

TEST(JobControlCalls, ACallEndsAtItsTimeout) {
  Agent agent(1);
  agent.Connect({1, 2});
  agent.Call({});
  EXPECT_EQ(agent.calls.NextDeadline(), agent.now + kControlTimeout);
  agent.calls.OnTick({agent.now + kControlTimeout, agent.out});
  EXPECT_EQ(agent.Replies(), std::vector<int>{kErrTimeout});
  EXPECT_EQ(agent.calls.size(), 0u);
}

Bytes DefineSet(const std::string& name) {
  Encoder out;
  out.PutSize(1);
  out.PutString("pmix.jctrl.defpset");
  out.PutUint32(0);
  out.PutUint16(PMIX_STRING);
  out.PutString(name);
  return Bytes(out.Take());
}

TEST(JobControlCalls, AProcessSetIsDefinedOnce) {
  Agent agent(1);
  CoreEvents events;
  agent.calls.set_events(&events);
  agent.Connect({1, 2});
  agent.Call({{"", 1}}, DefineSet("ocean"));
  EXPECT_TRUE(agent.Replies().empty());
  const CoreEvent first = events.Take();
  ASSERT_TRUE(std::holds_alternative<EventDue>(first));
  const EventRaised& defined = std::get<EventDue>(first).event;
  const auto replies = TakeAll<ReplyDue>(&events);
  ASSERT_EQ(replies.size(), 1u) << "the reply follows the event";
  EXPECT_EQ(replies[0].reply.status, kSuccess);
  EventMessage event;
  event.status = defined.status;
  event.source = defined.source;
  event.request = defined.id;
  event.info = defined.info;
  agent.sets.OnEvent(event);
  ASSERT_TRUE(agent.sets.sets().contains("ocean"));
  EXPECT_EQ(agent.sets.sets().at("ocean").members,
            (std::vector<ProcId>{{"mine", 1}}));
  // The same call is repeated, and another call uses the name of a job.
  agent.Call({{"", 1}}, DefineSet("ocean"));
  agent.calls.OnArrived({agent.now, agent.out},
                        {5, 10, HostOp::kJobControl, {}, DefineSet("ocean")});
  agent.calls.OnArrived({agent.now, agent.out},
                        {5, 11, HostOp::kJobControl, {}, DefineSet("mine")});
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(agent.Replies(),
            (std::vector<int>{kSuccess, kErrExists, kErrBadParam}));
}

TEST(JobControlTargets, TheControllerSendsTheRequestToTheTargetsNodes) {
  Agent agent(0);
  agent.Control({1, 2, 1});
  agent.calls.OnRequest({agent.now, agent.out}, 2,
                        agent.Request({{"job", 0}, {"job", 2}}));
  const auto sent = Sent<HostRequest>(agent.out);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 1u);
  EXPECT_EQ(sent[0].second.targets.size(), 2u);
  // The request arrives again while it is pending.
  agent.calls.OnRequest({agent.now, agent.out}, 2,
                        agent.Request({{"job", 0}, {"job", 2}}));
  EXPECT_EQ(Sent<HostRequest>(agent.out).size(), 1u);
  agent.calls.OnReply({0, agent.out}, 1, {{"mine", 0}, 9, "job", kSuccess, {}});
  const auto replies = Sent<HostReply>(agent.out);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].first, 2u);
  EXPECT_EQ(replies[0].second.status, kSuccess);
  EXPECT_EQ(agent.calls.size(), 0u);
}

TEST(JobControlTargets, TheControllerRefusesInvalidRequests) {
  Agent agent(0);
  agent.Control({1, 2});
  HostRequest request = agent.Request({{"job", 2}});
  agent.calls.OnRequest({agent.now, agent.out}, 2, request);
  request.nspace = "none";
  agent.calls.OnRequest({agent.now, agent.out}, 2, request);
  request = agent.Request({});
  request.request = 10;
  request.uid = 8;
  agent.calls.OnRequest({agent.now, agent.out}, 2, request);
  request.op = HostOp::kLog;
  agent.calls.OnRequest({agent.now, agent.out}, 2, request);
  std::vector<int> statuses;
  for (const auto& [to, reply] : Sent<HostReply>(agent.out)) {
    statuses.push_back(reply.status);
  }
  EXPECT_EQ(statuses, (std::vector<int>{kErrNotFound, kErrNotFound,
                                        kErrNoPermissions, kErrNotSupported}));
  EXPECT_TRUE(Sent<HostRequest>(agent.out).empty());
}

// The process has received the refusal, so a repetition must not be executed,
// even if the job exists by then.
TEST(JobControlTargets, ARepetitionOfARefusedRequestIsRefused) {
  Agent agent(0);
  agent.calls.OnRequest({agent.now, agent.out}, 2, agent.Request({}));
  EXPECT_EQ(Sent<HostReply>(agent.out).at(0).second.status, kErrNotFound);
  agent.Control({1, 2});
  agent.calls.OnRequest({agent.now, agent.out}, 2, agent.Request({}));
  EXPECT_TRUE(Sent<HostRequest>(agent.out).empty());
  EXPECT_EQ(Sent<HostReply>(agent.out).at(0).second.status, kErrNotFound);
  HostRequest another = agent.Request({});
  another.request = 10;
  agent.calls.OnRequest({agent.now, agent.out}, 2, another);
  EXPECT_EQ(Sent<HostRequest>(agent.out).size(), 2u);
}

TEST(JobControlTargets, ASignalIsDeliveredOnceAlsoByASuccessor) {
  Agent agent(1);
  agent.table.Add(agent.Spec("job", {1, 2, 1}));
  for (int i = 0; i < 2; ++i) {
    agent.calls.OnRequest({agent.now, agent.out}, 0, agent.Request({}));
  }
  ASSERT_EQ(All<SignalLocal>(agent.out).size(), 1u);
  EXPECT_EQ(All<SignalLocal>(agent.out)[0].ranks, (std::vector<Rank>{0, 2}));
  EXPECT_EQ(Sent<HostReply>(agent.out).size(), 2u);
  const auto records = All<PersistRecord>(agent.out);
  ASSERT_EQ(records.size(), 1u);
  Agent successor(1);
  successor.table.Add(successor.Spec("job", {1, 2, 1}));
  successor.calls.Recover("job", {records[0].key, records[0].value});
  successor.calls.OnRequest({agent.now, successor.out}, 0, agent.Request({}));
  EXPECT_TRUE(All<SignalLocal>(successor.out).empty());
  EXPECT_EQ(Sent<HostReply>(successor.out).at(0).second.status, kSuccess);
}

TEST(JobControlTargets, OnlyTheControllerMayRequestASignal) {
  Agent agent(1);
  agent.table.Add(agent.Spec("job", {1, 2}));
  agent.calls.OnRequest({agent.now, agent.out}, 2, agent.Request({}));
  EXPECT_TRUE(All<SignalLocal>(agent.out).empty());
  EXPECT_EQ(Sent<HostReply>(agent.out).at(0).second.status, kErrNotFound);
}

TEST(JobControlTargets, AFailedLaunchEndsAPendingSignal) {
  Agent agent(0);
  agent.engine.OnLaunchRequested({agent.now, agent.out},
                                 {agent.Spec("job", {1})});
  agent.calls.OnRequest({agent.now, agent.out}, 2, agent.Request({{"job", 0}}));
  EXPECT_EQ(agent.calls.size(), 1u);  // waits for the launch
  agent.table.Remove("job");
  agent.calls.OnLaunched({agent.now, agent.out}, "job");
  agent.calls.OnJobRemoved({agent.now, agent.out}, {"job"});
  EXPECT_EQ(agent.calls.size(), 0u);
  ASSERT_EQ(Sent<HostReply>(agent.out).size(), 1u);
  EXPECT_NE(Sent<HostReply>(agent.out)[0].second.status, kSuccess);
}

TEST(JobControlTargets, ARequestDoesNotWaitForALostNode) {
  Agent agent(0);
  agent.Control({1, 2});
  agent.calls.OnRequest({agent.now, agent.out}, 2, agent.Request({}));
  EXPECT_EQ(Sent<HostRequest>(agent.out).size(), 2u);
  agent.calls.OnReply({0, agent.out}, 2, {{"mine", 0}, 9, "job", kSuccess, {}});
  agent.tree.SetAlive(1, false);
  agent.calls.OnTreeChanged({agent.now, agent.out});
  EXPECT_EQ(Sent<HostReply>(agent.out).at(0).second.status, kSuccess);
}

TEST(JobControlTargets, AKillIsAnsweredWhenTheTargetsHaveEnded) {
  Agent agent(0);
  agent.Control({1, 2});
  agent.calls.OnRequest(
      {agent.now, agent.out}, 2,
      agent.Request({{"job", 1}}, Directive("pmix.jctrl.kill")));
  ASSERT_EQ(Sent<JobKill>(agent.out).size(), 1u);
  ASSERT_EQ(Sent<JobSignal>(agent.out).size(), 1u);
  EXPECT_EQ(Sent<JobSignal>(agent.out)[0].second.ranks, std::vector<Rank>{1});
  EXPECT_TRUE(Sent<HostReply>(agent.out).empty());
  std::vector<Waiting> waiting;
  agent.calls.Describe(agent.now, "", &waiting);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].missing.at(0).proc, (ProcId{"job", 1}));
  agent.table.MarkEnded("job", 1);
  agent.calls.OnRankGone({agent.now, agent.out}, {"job", 1});
  EXPECT_EQ(Sent<HostReply>(agent.out).at(0).second.status, kSuccess);
}

}  // namespace
}  // namespace canopy::core
