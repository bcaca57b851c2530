#include "server/core/abort/aborts.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/step/control_inputs.h"
#include "server/core/tree.h"

namespace canopy::core {
namespace {

const ProcId kCaller = {"mine", 0};

// One of three agents, of which agent 0 is the root and controls the jobs.
struct Agent {
  explicit Agent(NodeId self)
      : tree(3, 2),
        table(self),
        engine(self, names, tree, table),
        aborts(self, table, engine) {}

  const Job* Add(const std::string& nspace, const std::vector<NodeId>& agents,
                 uint32_t uid = 7) {
    JobSpec spec = *JobOn(nspace, agents);
    spec.uid = uid;
    return table.Add(std::make_shared<JobSpec>(std::move(spec)));
  }
  void Launch(const std::string& nspace, const std::vector<NodeId>& agents,
              uint32_t uid = 7) {
    JobSpec spec = *JobOn(nspace, agents);
    spec.uid = uid;
    engine.OnLaunchRequested({now, out},
                             {std::make_shared<JobSpec>(std::move(spec))});
    out.clear();
  }
  int Call(std::vector<ProcId> targets, RequestId request = 9) {
    return aborts.OnArrived({now, out}, kCaller,
                            {5, request, 3, "why", targets});
  }
  std::vector<int> Replies() {
    std::vector<int> out_statuses;
    for (const ReplyClient& reply : All<ReplyClient>(out))
      out_statuses.push_back(reply.status);
    return out_statuses;
  }
  void End(const ProcId& proc) {
    table.MarkEnded(proc.nspace, proc.rank);
    aborts.OnRankGone({now, out}, proc);
  }

  Tree tree;
  JobTable table;
  const std::vector<std::string> names = {"a", "b", "c"};
  JobEngine engine;
  Aborts aborts;
  TimeNs now = 1000;
  Actions out;
};

AbortReply ReplyTo(const AbortMessage& message, int status) {
  return {message.source, message.request, message.targets[0].nspace, status};
}

// ------------------------------------------------------ the caller's agent ---

TEST(AbortsTest, ACallerThatEndsToEndsNoJobOfAnotherUser) {
  Agent agent(1);
  agent.Add("mine", {1, 2});
  EXPECT_EQ(agent.Call({{"", 0}, {"theirs", 0}}), kSuccess);
  const auto sent = Sent<AbortMessage>(agent.out);
  ASSERT_EQ(sent.size(), 2u);
  Agent root(0);
  root.Launch("theirs", {1, 2}, 8);
  root.Launch("ours", {1, 2}, 7);
  AbortMessage message = sent[1].second;
  EXPECT_EQ(message.request, 0u);
  root.aborts.OnMessage({root.now, root.out}, message);
  EXPECT_TRUE(root.out.empty());
  message.targets = {{"ours", 0}};
  root.aborts.OnMessage({root.now, root.out}, message);
  EXPECT_FALSE(root.out.empty());
}

TEST(AbortsTest, AJobHasItsShareOfCalls) {
  Agent agent(1);
  agent.Add("mine", {1, 2});
  agent.Add("other", {1, 2});
  size_t calls = 0;
  while (calls < 2000 && agent.Call({{"", 1}}, 10 + calls) == kSuccess) ++calls;
  EXPECT_EQ(calls, 512u);
  EXPECT_EQ(agent.aborts.OnArrived({agent.now, agent.out}, {"other", 0},
                                   {6, 1, 3, "why", {{"", 1}}}),
            kSuccess);
  // A process that is a target of its own abort is not refused, because it gets
  // no reply.
  EXPECT_EQ(agent.Call({{"", 0}}, 5000), kSuccess);
}

TEST(AbortsTest, SendsOneMessageForEachJobAndRepliesOnce) {
  Agent agent(1);
  agent.Add("mine", {1, 2});
  EXPECT_EQ(agent.Call({{"", 1}, {"other", 2}, {"other", 4}}), kSuccess);
  const auto sent = Sent<AbortMessage>(agent.out);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].first, 0u);
  EXPECT_EQ(sent[0].second.targets, (std::vector<ProcId>{{"mine", 1}}));
  EXPECT_EQ(sent[1].second.targets,
            (std::vector<ProcId>{{"other", 2}, {"other", 4}}));
  EXPECT_EQ(sent[1].second.origin, 1u);
  EXPECT_EQ(sent[1].second.uid, 7u);
  agent.aborts.OnReply({0, agent.out}, 0, ReplyTo(sent[0].second, kSuccess));
  EXPECT_TRUE(agent.Replies().empty());
  AbortReply other = ReplyTo(sent[1].second, kErrNotFound);
  other.source = {"mine", 1};
  agent.aborts.OnReply({0, agent.out}, 0, other);
  EXPECT_TRUE(agent.Replies().empty());
  agent.aborts.OnReply({0, agent.out}, 0,
                       ReplyTo(sent[1].second, kErrNotFound));
  EXPECT_EQ(agent.Replies(), std::vector<int>{kErrNotFound});
  EXPECT_EQ(agent.aborts.size(), 0u);
}

TEST(AbortsTest, ATargetOfItsOwnAbortGetsNoAnswer) {
  for (const std::vector<ProcId>& targets : std::vector<std::vector<ProcId>>{
           {}, {{"mine", kRankWildcard}}, {{"mine", 0}, {"other", 1}}}) {
    Agent agent(1);
    agent.Add("mine", {1, 2});
    EXPECT_EQ(agent.Call(targets), kSuccess);
    for (const auto& [to, message] : Sent<AbortMessage>(agent.out))
      EXPECT_EQ(message.request, 0u);
    EXPECT_EQ(agent.aborts.NextDeadline(), kNever);
    EXPECT_EQ(agent.aborts.size(), 1u);
    agent.aborts.OnJobRemoved({agent.now, agent.out}, {"mine"});
    EXPECT_EQ(agent.aborts.size(), 0u);
    EXPECT_TRUE(agent.Replies().empty());
  }
}

TEST(AbortsTest, InvalidTargetsAreRefusedLocally) {
  Agent agent(1);
  agent.Add("mine", {1, 2});
  agent.Add("yours", {1}, 8);
  EXPECT_EQ(agent.Call({{"yours", 0}}), kErrParamValueNotSupported);
  EXPECT_EQ(agent.Call({{"mine", 2}}), kErrBadParam);
  EXPECT_TRUE(agent.out.empty());
  EXPECT_EQ(agent.aborts.size(), 0u);
}

TEST(AbortsTest, TheMessageIsResentUntilItIsAnswered) {
  Agent agent(1);
  agent.Add("mine", {1, 2});
  agent.Call({{"other", 2}});
  agent.aborts.OnTreeChanged({agent.now, agent.out});
  const auto sent = Sent<AbortMessage>(agent.out);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].second.request, sent[1].second.request);
  // The new root has no record of a job that ended with the old root.
  agent.aborts.OnReply({0, agent.out}, 0,
                       ReplyTo(sent[1].second, kErrNotFound));
  EXPECT_EQ(agent.Replies(), std::vector<int>{kSuccess});
  agent.aborts.OnReply({0, agent.out}, 0, ReplyTo(sent[0].second, kSuccess));
  EXPECT_EQ(agent.Replies().size(), 1u);
}

TEST(AbortsTest, OnlyTheControllersAnswerIsAccepted) {
  Agent agent(1);
  agent.Add("mine", {1, 2});
  agent.Call({{"mine", 1}});
  const auto sent = Sent<AbortMessage>(agent.out);
  ASSERT_EQ(sent.size(), 1u);
  agent.aborts.OnReply({0, agent.out}, 2, ReplyTo(sent[0].second, kSuccess));
  EXPECT_TRUE(agent.Replies().empty());
  agent.aborts.OnReply({0, agent.out}, 0, ReplyTo(sent[0].second, kSuccess));
  EXPECT_EQ(agent.Replies(), std::vector<int>{kSuccess});
}

TEST(AbortsTest, ACallEndsAtItsTimeout) {
  Agent agent(1);
  agent.Add("mine", {1, 2});
  agent.Call({{"other", 2}});
  EXPECT_EQ(agent.aborts.NextDeadline(), agent.now + kAbortTimeout);
  agent.aborts.OnTick({agent.now + kAbortTimeout, agent.out});
  EXPECT_EQ(agent.Replies(), std::vector<int>{kErrTimeout});
  EXPECT_EQ(agent.aborts.NextDeadline(), kNever);
}

TEST(AbortsTest, AnAbortContinuesWhenItsCallerIsGone) {
  Agent agent(1);
  agent.Add("mine", {1, 2});
  agent.Call({{"other", 2}});
  Actions none;
  agent.aborts.OnClientGone({0, none}, 5);
  const auto sent = Sent<AbortMessage>(agent.out);
  agent.aborts.OnReply({0, agent.out}, 0, ReplyTo(sent[0].second, kSuccess));
  EXPECT_TRUE(agent.Replies().empty());
  EXPECT_EQ(agent.aborts.size(), 0u);
}

TEST(AbortsTest, ASuccessorUsesNewRequestNumbers) {
  Agent before(1), after(1);
  for (Agent* agent : {&before, &after}) agent->Add("mine", {1, 2});
  for (int i = 0; i < 3; ++i) before.Call({{"other", 2}});
  after.now = before.now + 1'000'000;
  after.Call({{"other", 2}});
  const auto old = Sent<AbortMessage>(before.out);
  after.aborts.OnReply({0, after.out}, 0, ReplyTo(old[2].second, kErrNotFound));
  EXPECT_TRUE(after.Replies().empty());
}

// ---------------------------------------------------------- the controller ---

AbortMessage Message(std::vector<ProcId> targets, uint32_t uid = 7) {
  return {kCaller, 3, "why", std::move(targets), 42, 1, uid};
}

TEST(AbortsTest, TheControllerAnswersWhenTheTargetsAreGone) {
  Agent root(0);
  root.Launch("job", {1, 1, 2, 2});
  root.aborts.OnMessage({root.now, root.out},
                        Message({{"job", 1}, {"job", 3}}));
  EXPECT_TRUE(Sent<AbortReply>(root.out).empty());
  std::vector<Waiting> why;
  root.aborts.Describe(root.now, "", &why);
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].missing.size(), 2u);
  root.End({"job", 1});
  root.End({"job", 2});
  EXPECT_TRUE(Sent<AbortReply>(root.out).empty());
  root.End({"job", 3});
  const auto replies = Sent<AbortReply>(root.out);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].first, 1u);
  EXPECT_EQ(replies[0].second.request, 42u);
  EXPECT_EQ(replies[0].second.status, kSuccess);
  EXPECT_EQ(replies[0].second.nspace, "job");
  EXPECT_EQ(root.aborts.size(), 0u);
  // A repeated abort is answered at once, because the targets are gone.
  root.aborts.OnMessage({root.now, root.out}, Message({{"job", 1}}));
  EXPECT_EQ(Sent<AbortReply>(root.out).size(), 2u);
}

TEST(AbortsTest, ARepeatedMessageIsAnsweredOnce) {
  Agent root(0);
  root.Launch("job", {1, 2});
  for (int i = 0; i < 2; ++i)
    root.aborts.OnMessage({root.now, root.out}, Message({{"job", 1}}));
  root.End({"job", 1});
  EXPECT_EQ(Sent<AbortReply>(root.out).size(), 1u);
}

TEST(AbortsTest, TheEndOfAJobAnswersAllAbortsOfTheJob) {
  Agent root(0);
  root.Launch("job", {1, 2});
  root.aborts.OnMessage({root.now, root.out}, Message({{"job", 1}}));
  root.aborts.OnJobRemoved({root.now, root.out}, {"job"});
  EXPECT_EQ(Sent<AbortReply>(root.out).size(), 1u);
  EXPECT_EQ(root.aborts.size(), 0u);
}

TEST(AbortsTest, AnInvalidAbortIsAnsweredAndEndsNoProcess) {
  struct Case {
    AbortMessage message;
    int status;
  };
  for (const Case& c :
       {Case{Message({{"none", 0}}), kErrNotFound},
        Case{Message({{"job", 0}}, 8), kErrParamValueNotSupported},
        Case{Message({{"job", 0}, {"job", 9}}), kErrBadParam}}) {
    Agent root(0);
    root.Launch("job", {1, 2});
    root.aborts.OnMessage({root.now, root.out}, c.message);
    ASSERT_EQ(root.out.size(), 1u) << c.status;
    EXPECT_EQ(Sent<AbortReply>(root.out).at(0).second.status, c.status);
  }
}

TEST(AbortsTest, AnAbortOfAJobThatIsOverSucceeds) {
  Agent root(0);
  root.Add("job", {1});
  root.table.Remove("job");
  root.aborts.OnMessage({root.now, root.out}, Message({{"job", 0}}));
  EXPECT_EQ(Sent<AbortReply>(root.out).at(0).second.status, kSuccess);
}

TEST(AbortsTest, AnAbortOfAnOlderAgentIsNotAnswered) {
  Agent root(0);
  root.Launch("job", {1, 2});
  AbortMessage old = Message({{"job", 1}}, 0);
  old.source = {"job", 0};
  old.request = 0;
  root.aborts.OnMessage({root.now, root.out}, old);
  EXPECT_FALSE(Sent<JobKill>(root.out).empty());
  root.End({"job", 1});
  EXPECT_TRUE(Sent<AbortReply>(root.out).empty());
  EXPECT_EQ(root.aborts.size(), 0u);
}

TEST(AbortsTest, AnAbortOfSeveralJobsIsRefused) {
  for (const RequestId request : {0, 9}) {
    Agent root(0);
    root.Launch("job", {1, 2});
    root.Launch("theirs", {1, 2}, 8);
    AbortMessage message = Message({{"job", 1}, {"theirs", 0}});
    message.request = request;
    root.aborts.OnMessage({root.now, root.out}, message);
    EXPECT_TRUE(Sent<JobKill>(root.out).empty());
    std::vector<int> statuses;
    for (const auto& [to, reply] : Sent<AbortReply>(root.out)) {
      statuses.push_back(reply.status);
    }
    EXPECT_EQ(statuses, std::vector<int>(request == 0 ? 0 : 1, kErrBadParam));
  }
}

// An agent claims that the source's job belongs to the user of the targets.
TEST(AbortsTest, AClaimThatContradictsTheSourcesJobIsRefused) {
  for (const RequestId request : {0, 9}) {
    Agent root(0);
    root.Launch("job", {1, 2}, 7);
    root.Launch("liar", {1, 2}, 8);
    AbortMessage message = Message({{"job", 1}});
    message.source = {"liar", 0};
    message.request = request;
    message.has_uid = true;
    root.aborts.OnMessage({root.now, root.out}, message);
    EXPECT_TRUE(Sent<JobKill>(root.out).empty());
    EXPECT_EQ(Sent<AbortReply>(root.out).size(), request == 0 ? 0u : 1u);
  }
}

TEST(AbortsTest, AnAbortWithoutAUserEndsOnlyJobsOfTheSourcesUser) {
  struct Case {
    std::string source;
    bool ends;
  };
  for (const Case& c :
       {Case{"ours", true}, {"theirs", false}, {"unknown", false}}) {
    Agent root(0);
    root.Launch("job", {1, 2}, 7);
    root.Launch("ours", {1, 2}, 7);
    root.Launch("theirs", {1, 2}, 8);
    AbortMessage message = Message({{"job", 1}}, 0);
    message.source = {c.source, 0};
    message.request = 0;
    root.aborts.OnMessage({root.now, root.out}, message);
    EXPECT_EQ(Sent<JobKill>(root.out).empty(), !c.ends) << c.source;
  }
}

TEST(AbortsTest, AnAbortByAProcessOfTheRootIsAnswered) {
  Agent root(0);
  root.Launch("mine", {0, 1});
  EXPECT_EQ(root.Call({{"mine", 1}}), kSuccess);
  EXPECT_TRUE(root.Replies().empty());
  root.End({"mine", 1});
  EXPECT_EQ(root.Replies(), std::vector<int>{kSuccess});
}

}  // namespace
}  // namespace canopy::core
