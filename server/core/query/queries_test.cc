#include "server/core/query/queries.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/core_testing.h"
#include "server/core/pset/set_events.h"
#include "server/core/query/facts_service.h"
#include "server/core/query/query_testing.h"
#include "server/core/step/host_services.h"

namespace canopy::core {
namespace {

constexpr ClientId kClient = 7;
constexpr uint32_t kUser = 1000;

std::shared_ptr<const JobSpec> JobOf(const std::string& nspace, uint32_t uid,
                                     const std::vector<NodeId>& agents) {
  auto job = std::make_shared<JobSpec>(*JobOn(nspace, agents));
  job->uid = uid;
  job->apps[0].cmd = "a.out";
  job->apps[0].argv = {"a.out", "-x"};
  for (JobNode& node : job->nodes) node.name = "n" + std::to_string(node.agent);
  return job;
}

// One agent of three. Ranks 0 and 1 of "job" run on node 0, rank 2 on node 1.
// "theirs" belongs to another user.
class QueriesTest : public testing::Test {
 protected:
  QueriesTest() {
    jobs_.Add(JobOf("job", kUser, {0, 0, 1}));
    jobs_.Add(JobOf("theirs", kUser + 1, {0}));
    jobs_.Connect(kClient, {"job", 0});
    jobs_.NoteStarted({"job", 0}, 100);
    jobs_.NoteStarted({"job", 1}, 101);
  }

  Actions Ask(const std::vector<TestQuery>& queries, RequestId request = 1) {
    Actions out;
    queries_.OnArrived({0, out}, {kClient, request, Encoded(queries)});
    return out;
  }
  Actions Reply(NodeId src, const FactsReply& reply) {
    Actions out;
    queries_.OnReply({0, out}, src, reply);
    return out;
  }
  Actions Read(const FactsRead& read) {
    Actions out;
    queries_.OnRead({0, out}, read);
    return out;
  }
  // Returns the status of the only reply among the actions and stores its
  // content in answer_.
  int Answered(const Actions& actions) {
    const auto replies = All<ReplyClient>(actions);
    if (replies.size() != 1) return 1;
    answer_ = InfoList();
    EXPECT_TRUE(DecodeInfos(replies[0].payload.view(), &answer_));
    return replies[0].status;
  }
  std::span<const pmix_proc_info_t> Rows() const {
    const pmix_data_array_t& table = *answer_[0].value.data.darray;
    return {static_cast<const pmix_proc_info_t*>(table.array), table.size};
  }

  std::vector<std::string> names_{"n0", "n1", "n2"};
  Tree tree_{3, 32};
  JobTable jobs_{0};
  JobEngine engine_{0, names_, tree_, jobs_};
  ProcessSets sets_{jobs_};
  Queries queries_{0, names_, tree_, jobs_, engine_, sets_};
  InfoList answer_;
};

FactsReply ReplyTo(const FactsRequest& request,
                   std::vector<ProcessFacts> processes) {
  FactsReply reply;
  reply.request = request.request;
  reply.processes = std::move(processes);
  return reply;
}

TEST_F(QueriesTest, AProcessTableIsGatheredFromAllAgentsOfTheJob) {
  const Actions asked = Ask({{{PMIX_QUERY_PROC_TABLE}}});
  const auto sent = Sent<FactsRequest>(asked);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 1u);
  EXPECT_EQ(sent[0].second.nspace, "job");
  EXPECT_FALSE(sent[0].second.memory);
  EXPECT_TRUE(All<ReplyClient>(asked).empty());
  ASSERT_EQ(Answered(Reply(1, ReplyTo(sent[0].second,
                                      {{2, 300, PMIX_PROC_STATE_RUNNING, 0}}))),
            kSuccess);
  ASSERT_EQ(Rows().size(), 3u);
  EXPECT_EQ(Rows()[0].pid, 100);
  EXPECT_EQ(Rows()[0].state, PMIX_PROC_STATE_CONNECTED);
  EXPECT_STREQ(Rows()[0].executable_name, "a.out");
  EXPECT_EQ(Rows()[1].state, PMIX_PROC_STATE_RUNNING);
  EXPECT_EQ(Rows()[2].pid, 300);
  EXPECT_STREQ(Rows()[2].hostname, "n1");
  EXPECT_EQ(queries_.size(), 0u);
}

TEST_F(QueriesTest, AQueryOfLocalProcessesIsAnsweredAtOnce) {
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_LOCAL_PROC_TABLE}}})), kSuccess);
  EXPECT_EQ(Rows().size(), 2u);
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_PROC_TABLE},
                           {{PMIX_QUERY_LOCAL_ONLY, Value::Bool(true)}}}})),
            kSuccess);
  EXPECT_EQ(Rows().size(), 2u);
}

// The process has connected before the shim reported its PID to the agent.
TEST_F(QueriesTest, AQueryOfAPidWaitsForAStartingProcess) {
  const std::vector<TestQuery> pid = {
      {{PMIX_PROC_PID, PMIX_PROC_STATE_STATUS}}};
  jobs_.NoteStarted({"job", 0}, 0);
  Actions out;
  EXPECT_TRUE(Ask(pid).empty());
  jobs_.NoteStarted({"job", 1}, 1);
  queries_.OnProcesses({0, out}, "job");
  EXPECT_TRUE(out.empty()) << "another one is there";
  jobs_.NoteStarted({"job", 0}, 4711);
  queries_.OnProcesses({0, out}, "theirs");
  EXPECT_TRUE(out.empty()) << "processes of another job";
  queries_.OnProcesses({0, out}, "job");
  ASSERT_EQ(Answered(out), kSuccess);
  EXPECT_EQ(Int64Of(answer_[0].value), 4711);
  EXPECT_EQ(answer_[1].value.data.state, PMIX_PROC_STATE_CONNECTED);
  EXPECT_EQ(queries_.size(), 0u);
}

TEST_F(QueriesTest, AProcessTableWaitsForStartingProcesses) {
  jobs_.NoteStarted({"job", 1}, 0);
  Actions out;
  EXPECT_TRUE(Ask({{{PMIX_QUERY_LOCAL_PROC_TABLE}}}).empty());
  queries_.OnRequest({0, out}, 2, {9, "job", 1});
  EXPECT_TRUE(out.empty()) << "whoever asks";
  queries_.OnRequest({0, out}, 2, {10, "job", 0});
  ASSERT_EQ(Sent<FactsReply>(out).size(), 1u) << "rank 0 is there";
  out.clear();
  jobs_.NoteStarted({"job", 1}, 4711);
  queries_.OnProcesses({0, out}, "job");
  const auto sent = Sent<FactsReply>(out);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 2u);
  EXPECT_EQ(sent[0].second.processes.at(0).pid, 4711);
  ASSERT_EQ(Answered(out), kSuccess);
  EXPECT_EQ(Rows()[1].pid, 4711);
}

TEST_F(QueriesTest, AQueryWaitsForAStartingProcessForALimitedTime) {
  const std::vector<TestQuery> both = {
      {{PMIX_PROC_PID, PMIX_PROC_STATE_STATUS}}};
  jobs_.NoteStarted({"job", 0}, 0);
  EXPECT_TRUE(Ask(both).empty());
  EXPECT_EQ(queries_.NextDeadline(), kStartTime);
  Actions out;
  queries_.OnTick({kStartTime, out});
  ASSERT_EQ(Answered(out), kErrPartialSuccess);
  EXPECT_EQ(answer_[0].value.data.state, PMIX_PROC_STATE_CONNECTED);
  EXPECT_TRUE(Ask(both).empty());
  jobs_.NoteExit({"job", 0}, 127);
  out.clear();
  queries_.OnProcesses({0, out}, "job");
  EXPECT_EQ(Answered(out), kErrPartialSuccess) << "it has ended";
}

TEST_F(QueriesTest, TheRequestOfALostAgentIsDropped) {
  jobs_.NoteStarted({"job", 1}, 0);
  Actions out;
  queries_.OnRequest({0, out}, 2, {9, "job", 1});
  EXPECT_EQ(queries_.size(), 1u);
  queries_.OnNodeLost({0, out}, {2, false, ""});
  EXPECT_EQ(queries_.size(), 0u);
}

TEST_F(QueriesTest, AnAgentMayOnlyReportItsOwnProcesses) {
  const auto sent = Sent<FactsRequest>(Ask({{{PMIX_QUERY_PROC_TABLE}}}));
  ASSERT_EQ(sent.size(), 1u);
  const FactsReply lie = ReplyTo(
      sent[0].second, {{0, 666, PMIX_PROC_STATE_RUNNING, 0}, {9, 1, 1, 0}});
  EXPECT_TRUE(Reply(2, lie).empty()) << "was not asked";
  ASSERT_EQ(Answered(Reply(1, lie)), kSuccess);
  EXPECT_EQ(Rows()[0].pid, 100);
}

TEST_F(QueriesTest, AQueryDoesNotWaitForALostNode) {
  Ask({{{PMIX_QUERY_PROC_TABLE}}});
  Actions out;
  tree_.SetAlive(1, false);
  queries_.OnNodeLost({0, out}, {1, false, ""});
  ASSERT_EQ(Answered(out), kSuccess);
  EXPECT_EQ(Rows()[2].pid, 0);
  EXPECT_EQ(Rows()[2].state, PMIX_PROC_STATE_UNDEF);
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_PROC_TABLE}}})), kSuccess)
      << "nor asked";
}

TEST_F(QueriesTest, ARestartedAgentGetsTheRequestAgain) {
  const auto first = Sent<FactsRequest>(Ask({{{PMIX_QUERY_PROC_TABLE}}}));
  Actions out;
  queries_.OnNodeRestarted({0, out}, 1);
  const auto again = Sent<FactsRequest>(out);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].second.request, first[0].second.request);
}

TEST_F(QueriesTest, AQueryEndsAtItsTimeLimit) {
  Ask({{{PMIX_PROC_PID}, {{PMIX_PROCID, Value::Proc({"job", 2})}}}}, 1);
  Ask({{{PMIX_PROC_PID},
        {{PMIX_PROCID, Value::Proc({"job", 2})},
         {PMIX_TIMEOUT, Value::Int(1)}}}},
      2);
  EXPECT_EQ(queries_.NextDeadline(), 1'000'000'000);
  Actions out;
  queries_.OnTick({1'000'000'000, out});
  EXPECT_EQ(Answered(out), kErrTimeout) << "the caller's own limit";
  out.clear();
  queries_.OnTick({kQueryTime, out});
  EXPECT_EQ(Answered(out), kErrNotFound);
  EXPECT_EQ(queries_.NextDeadline(), kNever);
}

TEST_F(QueriesTest, PidAndStateOfAProcessAreReturned) {
  EXPECT_EQ(Answered(Ask({{{PMIX_PROC_PID, PMIX_PROC_STATE_STATUS},
                           {{PMIX_RANK, Value::Rank(1)}}}})),
            kSuccess);
  EXPECT_EQ(Int64Of(answer_[0].value), 101);
  EXPECT_EQ(answer_[1].value.data.state, PMIX_PROC_STATE_RUNNING);
  EXPECT_EQ(Answered(Ask({{{PMIX_PROC_PID}}})), kSuccess) << "of the caller";
  EXPECT_EQ(Int64Of(answer_[0].value), 100);
  EXPECT_EQ(Answered(Ask({{{PMIX_PROC_PID}, {{PMIX_RANK, Value::Rank(99)}}}})),
            kErrNotFound);
}

TEST_F(QueriesTest, MemoryOfProcessesIsMeasuredByTheirAgents) {
  const Actions asked = Ask({{{PMIX_QUERY_MEMORY_USAGE}}});
  const auto reads = All<ReadFacts>(asked);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].pids, (std::vector<int>{100, 101}));
  const auto sent = Sent<FactsRequest>(asked);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].second.memory);
  constexpr uint64_t kMb = 1 << 20;
  EXPECT_TRUE(Read({reads[0].number, {}, {3 * kMb, 5 * kMb}, 0}).empty());
  ASSERT_EQ(
      Answered(Reply(1, ReplyTo(sent[0].second,
                                {{2, 300, PMIX_PROC_STATE_RUNNING, 7 * kMb}}))),
      kSuccess);
  const auto report = InfosOf(answer_[0].value);
  ASSERT_EQ(report->size(), 3u);
  const auto last = InfosOf((*report)[2].value);
  EXPECT_EQ(ProcOf(FindInfo(*last, PMIX_PROCID)->value), (ProcId{"job", 2}));
  EXPECT_EQ(FindInfo(*last, PMIX_PROC_RSS)->value.data.fval, 7.0F);
}

TEST_F(QueriesTest, MemoryOfANodeIsReported) {
  const Actions asked = Ask({{{PMIX_DAEMON_MEMORY, PMIX_CLIENT_AVG_MEMORY}}});
  const auto reads = All<ReadFacts>(asked);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_TRUE(reads[0].agent);
  constexpr uint64_t kMb = 1 << 20;
  EXPECT_EQ(Answered(Read({reads[0].number, {}, {3 * kMb, 5 * kMb}, 9 * kMb})),
            kSuccess);
  EXPECT_EQ(answer_[0].value.data.fval, 9.0F);
  EXPECT_EQ(answer_[1].value.data.fval, 4.0F);
  const auto sent = Sent<FactsRequest>(
      Ask({{{PMIX_DAEMON_MEMORY}, {{PMIX_HOSTNAME, Value::String("n2")}}}}));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 2u);
  EXPECT_EQ(Answered(Ask({{{PMIX_DAEMON_MEMORY},
                           {{PMIX_HOSTNAME, Value::String("n9")}}}})),
            kErrNotFound);
}

TEST_F(QueriesTest, KeysOfJobDataAreReadFromTheSegment) {
  const auto reads =
      All<ReadFacts>(Ask({{{PMIX_JOB_SIZE, "none"}},
                          {{PMIX_HOSTNAME}, {{PMIX_RANK, Value::Rank(2)}}}}));
  ASSERT_EQ(reads.size(), 1u);
  ASSERT_EQ(reads[0].keys.size(), 3u);
  EXPECT_EQ(reads[0].keys[0].proc, (ProcId{"job", 0}));
  EXPECT_EQ(reads[0].keys[2].proc, (ProcId{"job", 2}));
  const Bytes size(EncodeValue(Value::Uint32(3).raw()));
  const Bytes host(EncodeValue(Value::String("n1").raw()));
  EXPECT_EQ(Answered(Read({reads[0].number, {size, {}, host}, {}, 0})),
            kErrPartialSuccess);
  ASSERT_EQ(answer_.size(), 2u);
  EXPECT_EQ(answer_.FindUint(PMIX_JOB_SIZE), 3u);
  EXPECT_EQ(answer_.FindString(PMIX_HOSTNAME), "n1");
}

// Rule QRY-13 of tests/conformance/rules.tsv.
TEST_F(QueriesTest, JobsOfAnotherUserAreHidden) {
  const InfoList theirs{{PMIX_NSPACE, Value::String("theirs")}};
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_PROC_TABLE}, theirs}})), kErrNotFound);
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_JOB_STATUS}, theirs}})), kErrNotFound);
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_NAMESPACES}}})), kSuccess);
  EXPECT_EQ(answer_.FindString(PMIX_QUERY_NAMESPACES), "job");
  const auto reads = All<ReadFacts>(Ask({{{PMIX_JOB_SIZE}, theirs}}));
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].keys[0].proc.nspace, "");
}

TEST_F(QueriesTest, AToolOfAnotherUserSeesThatUsersJobs) {
  ASSERT_TRUE(jobs_.ConnectTool(5, {"tool", 0}, {kUser + 1, 3}, true));
  ASSERT_TRUE(jobs_.ConnectTool(6, {"ours", 0}, {kUser + 2, 3}));
  const auto namespaces = [&](ClientId client) {
    Actions out;
    queries_.OnArrived({0, out},
                       {client, 1, Encoded({{{PMIX_QUERY_NAMESPACES}}})});
    EXPECT_EQ(Answered(out), kSuccess);
    return std::string(answer_.FindString(PMIX_QUERY_NAMESPACES).value_or(""));
  };
  EXPECT_EQ(namespaces(5), "theirs");
  EXPECT_EQ(namespaces(6), "job,theirs");
}

TEST_F(QueriesTest, NamespacesAreReportedWithTheirCommands) {
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_NAMESPACE_INFO}}})), kSuccess);
  const auto jobs = InfosOf(answer_[0].value);
  ASSERT_EQ(jobs->size(), 1u);
  const auto job = InfosOf((*jobs)[0].value);
  EXPECT_EQ(StringOf(FindInfo(*job, PMIX_CMD_LINE)->value), "a.out -x");
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_JOB_STATUS}}})), kSuccess);
  EXPECT_EQ(answer_[0].value.type, PMIX_STATUS);
}

// The global query needs facts from the root, which is another agent. These
// facts must not be used for the local query of the same call.
TEST_F(QueriesTest, LocalAndGlobalQueriesOfOneCallAreAnsweredSeparately) {
  JobTable jobs{1};
  jobs.Add(JobOf("job", kUser, {0, 0, 1}));
  jobs.Connect(kClient, {"job", 2});
  JobEngine engine{1, names_, tree_, jobs};
  ProcessSets sets{jobs};
  Queries queries{1, names_, tree_, jobs, engine, sets};
  const InfoList here{{PMIX_QUERY_LOCAL_ONLY, Value::Bool(true)}};
  Actions out;
  queries.OnArrived(
      {0, out},
      {kClient, 1,
       Encoded({{{PMIX_QUERY_NAMESPACES}, here}, {{PMIX_QUERY_NAMESPACES}}})});
  const auto sent = Sent<FactsRequest>(out);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 0u);
  FactsReply reply = ReplyTo(sent[0].second, {});
  reply.jobs = {{"elsewhere", kUser, 0, ""}, {"job", kUser, 0, ""}};
  out.clear();
  queries.OnReply({0, out}, 0, reply);
  EXPECT_EQ(Answered(out), kSuccess);
  ASSERT_EQ(answer_.size(), 2u);
  EXPECT_EQ(StringOf(answer_[0].value), "job");
  EXPECT_EQ(StringOf(answer_[1].value), "elsewhere,job");
}

TEST_F(QueriesTest, TheCallersUserIsReadAtTheTimeOfTheCall) {
  const InfoList theirs{{PMIX_NSPACE, Value::String("theirs")}};
  const auto asked = Ask({{{PMIX_QUERY_PROC_TABLE, PMIX_QUERY_NAMESPACES}}});
  jobs_.Remove("job");
  const auto sent = Sent<FactsRequest>(asked);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(Answered(Reply(1, ReplyTo(sent[0].second, {}))),
            kErrPartialSuccess);
  EXPECT_EQ(answer_.FindString(PMIX_QUERY_NAMESPACES), "job");
}

TEST_F(QueriesTest, AQueryOfTooManyNamespacesIsRefused) {
  for (size_t i = 0; i <= kMaxJobFacts; ++i) {
    jobs_.Add(JobOf("job" + std::to_string(i), kUser, {0}));
  }
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_NAMESPACES}}})), kErrOutOfResource);
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_JOB_STATUS}}})), kSuccess);
}

TEST_F(QueriesTest, AReportOfOnlyNamesContainsNoCommands) {
  Actions out;
  FactsRequest request;
  request.request = 5;
  request.jobs = true;
  request.rank = kNamesOnly;
  queries_.OnRequest({0, out}, 2, request);
  const auto sent = Sent<FactsReply>(out);
  ASSERT_EQ(sent.size(), 1u);
  ASSERT_FALSE(sent[0].second.jobs.empty());
  for (const JobFacts& job : sent[0].second.jobs) EXPECT_EQ(job.command, "");
}

TEST_F(QueriesTest, TheMapOfAnotherJobIsFetchedFirst) {
  const InfoList other{{PMIX_NSPACE, Value::String("other")}};
  CoreEvents events;
  queries_.set_events(&events);
  EXPECT_TRUE(Ask({{{PMIX_QUERY_PROC_TABLE}, other}}, 1).empty());
  const auto wanted = TakeAll<MapWanted>(&events);
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].nspace, "other");
  jobs_.Add(JobOf("other", kUser, {2}));
  Actions out;
  queries_.OnJobAdded({0, out}, "other");
  const auto sent = Sent<FactsRequest>(out);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 2u);

  const InfoList none{{PMIX_NSPACE, Value::String("none")}};
  Ask({{{PMIX_QUERY_PROC_TABLE}, none}}, 2);
  out.clear();
  queries_.OnJobUnknown({0, out}, "none");
  EXPECT_EQ(Answered(out), kErrNotFound);
}

// Makes queries that involve the host, and answers in place of the host.
class HostQueriesTest : public QueriesTest {
 protected:
  AskHost AskForHost(const std::vector<TestQuery>& queries) {
    const Actions actions = Ask(queries);
    EXPECT_TRUE(All<ReplyClient>(actions).empty());
    const auto asked = All<AskHost>(actions);
    EXPECT_EQ(asked.size(), 1u);
    return asked.at(0);
  }
  int Answer(const AskHost& ask, int status, const InfoList& results = {}) {
    std::string bytes;
    if (!results.empty()) {
      EXPECT_EQ(EncodeInfos(results.data(), results.size(), &bytes), kSuccess);
    }
    Actions out;
    EXPECT_TRUE(
        queries_.OnHostAnswered({0, out}, {ask.number, status, Bytes(bytes)}));
    return Answered(out);
  }
};

// Rule QRY-11 of tests/conformance/rules.tsv.
TEST_F(HostQueriesTest, AttributesOfAFunctionAreReturned) {
  EXPECT_EQ(
      Answer(AskForHost({{{PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get", "none"},
                          {{PMIX_HOST_ATTRIBUTES, Value::Bool(true)}}}}),
             kErrNotFound),
      kErrPartialSuccess);
  ASSERT_EQ(answer_.size(), 1u);
  EXPECT_EQ(KeyOf(answer_[0]), "PMIx_Get");
  const auto levels = InfosOf(answer_[0].value);
  ASSERT_EQ(levels->size(), 1u);
  EXPECT_EQ(KeyOf((*levels)[0]), PMIX_HOST_ATTRIBUTES);
}

TEST_F(HostQueriesTest, SupportedKeysAndQualifiersAreReturned) {
  const AskHost ask = AskForHost({{{PMIX_QUERY_SUPPORTED_KEYS}}});
  host_call::Query query;
  ASSERT_TRUE(wire::Decode(ask.call, &query));
  ASSERT_EQ(query.keys.size(), 1u);
  EXPECT_EQ(query.keys[0], PMIX_QUERY_SUPPORTED_KEYS);
  EXPECT_EQ(Answer(ask, kErrNotFound), kSuccess);
  EXPECT_EQ(
      Answered(Ask({{{PMIX_QUERY_PROC_TABLE},
                     {{PMIX_QUERY_SUPPORTED_QUALIFIERS, Value::Bool(true)}}}})),
      kSuccess);
  EXPECT_NE(answer_.FindString(PMIX_QUERY_PROC_TABLE)->find(PMIX_NSPACE),
            std::string::npos);
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_NUM_PSETS, PMIX_QUERY_DEBUG_SUPPORT}}})),
            kSuccess);
}

// If there is no scheduler, or if its answer has another form, no services of a
// scheduler are supported.
TEST_F(HostQueriesTest, SupportedKeysIncludeTheServicesOfTheScheduler) {
  const std::vector<TestQuery> queries = {
      {{PMIX_QUERY_SUPPORTED_KEYS, PMIX_QUERY_SPAWN_SUPPORT}},
      {{PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Allocation_request"},
       {{PMIX_HOST_ATTRIBUTES, Value::Bool(true)}}}};
  const auto has = [this](const char* key, const char* text) {
    return answer_.FindString(key).value_or("").find(text) != std::string::npos;
  };
  EXPECT_EQ(Answer(AskForHost(queries), kSuccess,
                   {{PMIX_QUERY_SUPPORTED_KEYS,
                     Value::Uint64(kHostPlacesJobs | kHostAllocates |
                                   kHostAnswersQueries)}}),
            kSuccess);
  EXPECT_TRUE(has(PMIX_QUERY_SUPPORTED_KEYS, PMIX_QUERY_QUEUE_LIST));
  EXPECT_TRUE(has(PMIX_QUERY_SPAWN_SUPPORT, PMIX_ALLOC_QUEUE));
  EXPECT_TRUE(answer_.Has("PMIx_Allocation_request"));
  EXPECT_EQ(Answer(AskForHost(queries), kSuccess,
                   {{PMIX_QUERY_SUPPORTED_KEYS, Value::String("all")}}),
            kErrPartialSuccess);
  EXPECT_FALSE(has(PMIX_QUERY_SUPPORTED_KEYS, PMIX_QUERY_QUEUE_LIST));
  EXPECT_TRUE(has(PMIX_QUERY_SUPPORTED_KEYS, PMIX_QUERY_PROC_TABLE));
  EXPECT_FALSE(has(PMIX_QUERY_SPAWN_SUPPORT, PMIX_ALLOC_QUEUE));
  EXPECT_FALSE(answer_.Has("PMIx_Allocation_request"));
}

TEST_F(HostQueriesTest, KeysOfASchedulerAreRequestedFromTheHost) {
  const AskHost ask =
      AskForHost({{{PMIX_QUERY_QUEUE_STATUS, PMIX_QUERY_NUM_PSETS},
                   {{PMIX_ALLOC_QUEUE, Value::String("fast")},
                    {PMIX_USERID, Value::Uint32(0)},
                    {"site.qualifier", Value::Uint32(1)}}}});
  EXPECT_EQ(ask.op, HostOp::kQuery);
  EXPECT_EQ(ask.source, (ProcId{"job", 0}));
  EXPECT_EQ(ask.uid, kUser);
  host_call::Query query;
  ASSERT_TRUE(wire::Decode(ask.call, &query));
  ASSERT_EQ(query.keys.size(), 1u);
  EXPECT_EQ(query.keys[0], PMIX_QUERY_QUEUE_STATUS);
  InfoList qualifiers;
  EXPECT_TRUE(DecodeInfos(query.infos, &qualifiers));
  EXPECT_EQ(qualifiers.FindString(PMIX_ALLOC_QUEUE), "fast");
  EXPECT_TRUE(qualifiers.Has("site.qualifier"));
  EXPECT_FALSE(qualifiers.Has(PMIX_USERID)) << "the agent knows it";
  EXPECT_EQ(Answer(ask, kSuccess,
                   {{PMIX_QUERY_QUEUE_STATUS, Value::String("idle")},
                    {PMIX_QUERY_NUM_PSETS, Value::Uint32(77)},
                    {PMIX_QUERY_QUEUE_LIST, Value::String("not asked")}}),
            kSuccess);
  ASSERT_EQ(answer_.size(), 2u);
  EXPECT_EQ(answer_.FindString(PMIX_QUERY_QUEUE_STATUS), "idle");
  EXPECT_EQ(answer_.Find(PMIX_QUERY_NUM_PSETS)->value.data.size, 0u);
  EXPECT_EQ(queries_.size(), 0u);
}

TEST_F(HostQueriesTest, AQueryWithSomeAnswersSucceedsPartly) {
  EXPECT_EQ(
      Answer(AskForHost({{{PMIX_QUERY_QUEUE_LIST, PMIX_QUERY_ALLOC_STATUS}}}),
             kErrPartialSuccess,
             {{PMIX_QUERY_QUEUE_LIST, Value::String("a,b")}}),
      kErrPartialSuccess);
  EXPECT_EQ(answer_.FindString(PMIX_QUERY_QUEUE_LIST), "a,b");
  // Keys of agents are answered whatever the host's answer is.
  EXPECT_EQ(
      Answer(AskForHost({{{PMIX_QUERY_QUEUE_LIST, PMIX_QUERY_NUM_PSETS}}}),
             kErrNotSupported),
      kErrPartialSuccess);
}

TEST_F(HostQueriesTest, AQueryWithoutAnAnswerReturnsTheHostsStatus) {
  for (const int status : {kErrNotFound, kErrNotSupported, kErrUnreach}) {
    EXPECT_EQ(Answer(AskForHost({{{PMIX_QUERY_QUEUE_LIST}}}), status), status);
  }
  EXPECT_EQ(Answer(AskForHost({{{PMIX_QUERY_QUEUE_LIST}}}), kSuccess),
            kErrNotFound);
}

TEST_F(HostQueriesTest, AQueryOfASilentHostEndsAtItsTimeLimit) {
  AskForHost({{{PMIX_QUERY_QUEUE_LIST}}});
  EXPECT_EQ(queries_.NextDeadline(), kHostQueryTime);
  Actions out;
  queries_.OnTick({kHostQueryTime, out});
  EXPECT_EQ(Answered(out), kErrTimeout);
  // A late answer has no effect.
  EXPECT_TRUE(queries_.OnHostAnswered({0, out}, {uint64_t{1} << 63, 0, {}}));
  EXPECT_FALSE(queries_.OnHostAnswered({0, out}, {1, 0, {}}));
  EXPECT_EQ(queries_.size(), 0u);
}

TEST_F(QueriesTest, QualifiersWithoutAnEffectAreLoggedOnce) {
  const TestQuery query = {{PMIX_QUERY_NUM_PSETS},
                           {{"site.new\nline", Value::Uint32(1)}}};
  const auto lines = All<LogLine>(Ask({query, query}));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text,
            "job:0: the directive site.new\\nline of PMIx_Query_info is "
            "ignored");
  EXPECT_TRUE(All<LogLine>(Ask({query}, 2)).empty());
}

TEST_F(HostQueriesTest, TheHostDecidesOnQualifiersOfItsOwnKeys) {
  InfoList required;
  required.Add("site.qualifier", Value::Uint32(1), PMIX_INFO_REQD);
  AskForHost({{{PMIX_QUERY_QUEUE_LIST}, required}});
  EXPECT_EQ(
      Answered(Ask({{{PMIX_QUERY_QUEUE_LIST, PMIX_JOB_SIZE}, required}}, 2)),
      kErrNotSupported);
}

TEST_F(HostQueriesTest, QueriesOfQualifiersAndLocalQueriesBypassTheHost) {
  EXPECT_EQ(
      Answered(Ask({{{PMIX_QUERY_QUEUE_STATUS},
                     {{PMIX_QUERY_SUPPORTED_QUALIFIERS, Value::Bool(true)}}}})),
      kSuccess);
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_QUEUE_STATUS},
                           {{PMIX_QUERY_LOCAL_ONLY, Value::Bool(true)}}}})),
            kErrNotFound);
  const std::vector<TestQuery> many(kMaxHostQueries + 1,
                                    {{PMIX_QUERY_QUEUE_STATUS}});
  EXPECT_EQ(Answered(Ask(many)), kErrOutOfResource);
}

TEST_F(HostQueriesTest, TheHostsTimeRemainingIsPreferred) {
  auto limited = std::make_shared<JobSpec>(*JobOf("limited", kUser, {0}));
  limited->timeout_seconds = 90;
  Actions launch;
  engine_.OnLaunchRequested({0, launch}, {limited});
  jobs_.Connect(kClient + 1, {"limited", 0});
  const auto ask = [&](RequestId request) {
    Actions out;
    queries_.OnArrived(
        {500'000'000, out},
        {kClient + 1, request, Encoded({{{PMIX_TIME_REMAINING}}})});
    return All<AskHost>(out).at(0);
  };
  EXPECT_EQ(Answer(ask(1), kErrNotFound), kSuccess);
  EXPECT_EQ(answer_[0].value.data.uint32, 90u) << "the last is not over";
  EXPECT_EQ(Answer(ask(2), kSuccess, {{PMIX_TIME_REMAINING, Value::Uint32(7)}}),
            kSuccess);
  EXPECT_EQ(answer_[0].value.data.uint32, 7u);
  // For a job without a limit there is no answer.
  EXPECT_EQ(Answer(AskForHost({{{PMIX_TIME_REMAINING}}}), kErrNotFound),
            kErrNotFound);
}

TEST_F(QueriesTest, NumberAndNamesOfProcessSetsAreReturned) {
  const EventRaised raised =
      sets_.Define({"job", 0}, 1, "ocean", {{"job", 1}, {"job", 0}});
  EventMessage event;
  event.status = raised.status;
  event.source = raised.source;
  event.request = raised.id;
  event.info = raised.info;
  sets_.OnEvent(event);
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_NUM_PSETS, PMIX_QUERY_PSET_NAMES}}})),
            kSuccess);
  ASSERT_NE(answer_.Find(PMIX_QUERY_NUM_PSETS), nullptr);
  EXPECT_EQ(answer_.Find(PMIX_QUERY_NUM_PSETS)->value.data.size, 1u);
  // The key has no answer, because no qualifier selects a set.
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_PSET_MEMBERSHIP}}})), kErrNotFound);
}

// The owners of these sets have no process on this node, so this agent does not
// know their jobs.
TEST_F(QueriesTest, SetsOfUnknownJobsAreShownToTheirUserAlone) {
  const auto define = [this](const std::string& name, uint64_t user,
                             NodeId raised_at) {
    EventMessage event;
    const EventRaised raised =
        SetDefined({{name + "-job", 0}, 1}, name, {{name + "-job", 0}});
    event.status = raised.status;
    event.source = raised.source;
    event.request = raised.id;
    event.info = raised.info;
    event.user = user;
    event.origin = raised_at;
    sets_.OnEvent(event);
  };
  define("mine", uint64_t{kUser} + 1, 2);
  define("theirs", uint64_t{kUser} + 2, 2);
  define("nobodys", 0, 2);
  define("hosts", 0, 0);
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_PSET_NAMES}}})), kSuccess);
  const pmix_value_t& names = answer_.Find(PMIX_QUERY_PSET_NAMES)->value;
  ASSERT_EQ(names.data.darray->size, 2u);
  const auto* name = static_cast<char* const*>(names.data.darray->array);
  EXPECT_STREQ(name[0], "hosts");
  EXPECT_STREQ(name[1], "mine");
  const auto members = [this](const char* set) {
    return Answered(Ask({{{PMIX_QUERY_PSET_MEMBERSHIP},
                          {{PMIX_PSET_NAME, Value::String(set)}}}}));
  };
  EXPECT_EQ(members("mine"), kSuccess);
  EXPECT_EQ(members("theirs"), kErrNotFound);
}

TEST_F(QueriesTest, PendingCallsOfAProcessAreLimited) {
  for (size_t i = 0; i < kMaxCallsOfProcess; ++i) {
    EXPECT_TRUE(
        All<ReplyClient>(Ask({{{PMIX_QUERY_PROC_TABLE}}}, i + 1)).empty());
  }
  EXPECT_EQ(Answered(Ask({{{PMIX_QUERY_PROC_TABLE}}}, 99)), kErrOutOfResource);
  Actions none;
  queries_.OnClientGone({0, none}, kClient);
  EXPECT_EQ(queries_.size(), 0u);
  EXPECT_EQ(queries_.NextDeadline(), kNever);
}

TEST_F(QueriesTest, KeysOfOneJobAreRequestedOnce) {
  const std::vector<std::string> keys(kMaxQueryKeys / 2, PMIX_QUERY_PROC_TABLE);
  EXPECT_EQ(Sent<FactsRequest>(Ask({{keys}, {keys}})).size(), 1u);
}

TEST_F(QueriesTest, AQueryOfThePidOfAllProcessesFails) {
  EXPECT_EQ(Answered(Ask({{{PMIX_PROC_PID},
                           {{PMIX_RANK, Value::Rank(PMIX_RANK_WILDCARD)}}}})),
            kErrNotFound);
}

TEST_F(QueriesTest, AQueryOfDataThatIsTooLargeIsRefused) {
  const auto reads = All<ReadFacts>(Ask({{{PMIX_JOB_SIZE}}}));
  ASSERT_EQ(reads.size(), 1u);
  Actions actions;
  FactsRead read;
  read.number = reads[0].number;
  read.too_much = true;
  queries_.OnRead({0, actions}, read);
  EXPECT_EQ(Answered(actions), kErrOutOfResource);
}

TEST_F(QueriesTest, AnAnswerThatIsTooLargeIsRefused) {
  const std::vector<std::string> keys(kMaxQueryKeys, PMIX_QUERY_NAMESPACE_INFO);
  jobs_.Add(JobOf(std::string(200, 'n'), kUser, {0}));
  auto job = std::make_shared<JobSpec>(*JobOf("big", kUser, {0}));
  job->apps[0].argv = {std::string(1 << 16, 'x')};
  jobs_.Add(job);
  EXPECT_EQ(Answered(Ask({{keys}})), kErrOutOfResource);
}

TEST_F(QueriesTest, MalformedQueriesAndUnknownCallersAreRefused) {
  Actions out;
  queries_.OnArrived({0, out}, {kClient, 1, Bytes(std::string("x"))});
  EXPECT_NE(Answered(out), kSuccess);
  out.clear();
  queries_.OnArrived({0, out}, {99, 1, Encoded({{{"k"}}})});
  EXPECT_EQ(Answered(out), kErrInit);
}

TEST_F(QueriesTest, RequestsOfOtherAgentsAreAnswered) {
  Actions out;
  FactsRequest request;
  request.request = 5;
  request.nspace = "job";
  queries_.OnRequest({0, out}, 2, request);
  const auto replies = Sent<FactsReply>(out);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].first, 2u);
  EXPECT_EQ(replies[0].second.request, 5u);
  ASSERT_EQ(replies[0].second.processes.size(), 2u);
  EXPECT_EQ(replies[0].second.processes[1].pid, 101);
  out.clear();
  request.memory = true;
  queries_.OnRequest({0, out}, 2, request);
  const auto reads = All<ReadFacts>(out);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_TRUE(Sent<FactsReply>(out).empty());
  const auto measured =
      Sent<FactsReply>(Read({reads[0].number, {}, {11, 12}, 0}));
  ASSERT_EQ(measured.size(), 1u);
  EXPECT_EQ(measured[0].second.processes[1].resident, 12u);
  EXPECT_EQ(queries_.size(), 0u);
}

TEST_F(QueriesTest, WhyNamesTheCaller) {
  Ask({{{PMIX_QUERY_PROC_TABLE}}});
  std::vector<Waiting> waiting;
  queries_.Describe(2'000'000, "job", &waiting);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].operation, "query by rank 0");
  EXPECT_EQ(waiting[0].age_ms, 2u);
}

}  // namespace
}  // namespace canopy::core
