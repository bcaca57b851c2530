// Tests of samples of resource usage: the targets, the requests to agents, and
// the results.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/core_testing.h"
#include "server/core/query/queries.h"
#include "server/core/step/usage.h"
#include "server/core/step/usage_keys.h"

namespace canopy::core {
namespace {

constexpr uint32_t kUser = 1000;
constexpr uint64_t kRss = UsageBit(kProcUsage, PMIX_PROC_RSS);

std::shared_ptr<const JobSpec> JobOf(const std::string& nspace, uint32_t uid,
                                     const std::vector<NodeId>& agents,
                                     uint32_t session) {
  auto job = std::make_shared<JobSpec>(*JobOn(nspace, agents));
  job->uid = uid;
  job->session_id = session;
  for (JobNode& node : job->nodes) node.name = "n" + std::to_string(node.agent);
  return job;
}

Bytes Encoded(const InfoList& infos) {
  std::string out;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), kSuccess);
  return Bytes(std::move(out));
}

Bytes Rss(float megabytes) {
  return Encoded({{PMIX_PROC_RSS, Value::Float(megabytes)}});
}

// One agent of three. Ranks 0 and 1 of "job" run on node 0, rank 2 on node 1.
// "sibling" belongs to the same session, "stranger" to another session, and
// "theirs" to another user.
class UsageQueriesTest : public testing::Test {
 protected:
  UsageQueriesTest() {
    jobs_.Add(JobOf("job", kUser, {0, 0, 1}, 1));
    jobs_.Add(JobOf("sibling", kUser, {2}, 1));
    jobs_.Add(JobOf("stranger", kUser, {2}, 2));
    jobs_.Add(JobOf("theirs", kUser + 1, {0}, 1));
    jobs_.NoteStarted({"job", 0}, 100);
    jobs_.NoteStarted({"job", 1}, 101);
    jobs_.NoteStarted({"theirs", 0}, 102);
    wanted_.caller = {"job", 0};
  }

  // Begins a sample. Stores its requests to other agents, and its requests to
  // read facts of this node.
  void Want() {
    Actions out;
    wanted_.number = ++number_;
    queries_.OnUsageWanted({0, out}, wanted_);
    Take(out);
    asked_.clear();
    for (const auto& [node, request] : Sent<FactsRequest>(out)) {
      asked_.push_back({node, request});
    }
    reads_ = All<ReadFacts>(out);
  }
  void Take(const Actions& out) {
    for (const UsageTaken& taken : All<UsageTaken>(out)) {
      EXPECT_FALSE(is_taken_);
      is_taken_ = true;
      status_ = taken.status;
      EXPECT_EQ(taken.number, number_);
      results_ = InfoList();
      EXPECT_TRUE(DecodeInfos(taken.results.view(), &results_));
    }
  }
  void Reply(const std::pair<NodeId, FactsRequest>& ask,
             std::vector<ProcessFacts> processes, Bytes node = {}) {
    FactsReply reply;
    reply.request = ask.second.request;
    reply.processes = std::move(processes);
    reply.usage = std::move(node);
    Actions out;
    queries_.OnReply({0, out}, ask.first, reply);
    Take(out);
  }
  void Read(size_t i, std::vector<Bytes> users, Bytes node = {}) {
    FactsRead read;
    read.number = reads_.at(i).number;
    read.users = std::move(users);
    read.node = std::move(node);
    Actions out;
    queries_.OnRead({0, out}, read);
    Take(out);
  }
  InfoList Result(size_t i) const {
    const auto infos = InfosOf(results_[i].value);
    return infos ? InfoList::FromC(infos->data(), infos->size()) : InfoList();
  }

  std::vector<std::string> names_{"n0", "n1", "n2"};
  Tree tree_{3, 32};
  JobTable jobs_{0};
  JobEngine engine_{0, names_, tree_, jobs_};
  ProcessSets sets_{jobs_};
  Queries queries_{0, names_, tree_, jobs_, engine_, sets_};
  UsageWanted wanted_;
  uint64_t number_ = 40;
  std::vector<std::pair<NodeId, FactsRequest>> asked_;
  std::vector<ReadFacts> reads_;
  bool is_taken_ = false;
  int status_ = 1;
  InfoList results_;
};

TEST_F(UsageQueriesTest, ProcessesOfTheSessionAreMeasuredByTheirAgents) {
  wanted_.fields.proc = kRss;
  Want();
  ASSERT_EQ(asked_.size(), 2u) << "rank 2 of job, and sibling";
  ASSERT_EQ(reads_.size(), 1u);
  EXPECT_EQ(reads_[0].users, (std::vector<int>{100, 101}));
  EXPECT_EQ(reads_[0].usage.proc, kRss);
  EXPECT_TRUE(reads_[0].pids.empty());
  Read(0, {Rss(3), Bytes()});
  for (const auto& ask : asked_) {
    EXPECT_EQ(ask.second.usage.proc, kRss);
    const bool own = ask.second.nspace == "job";
    EXPECT_EQ(ask.first, own ? 1u : 2u);
    ASSERT_FALSE(is_taken_);
    Reply(ask, {{own ? 2u : 0u, 300, PMIX_PROC_STATE_RUNNING, 0, Rss(5)}});
  }
  ASSERT_TRUE(is_taken_);
  EXPECT_EQ(status_, kSuccess);
  // Rank 1 ended while it was measured.
  ASSERT_EQ(results_.size(), 3u);
  EXPECT_EQ(KeyOf(results_[0]), PMIX_PROC_RESOURCE_USAGE);
  const InfoList first = Result(0);
  EXPECT_EQ(KeyOf(first[0]), PMIX_PROCID);
  for (size_t i = 0; i < 3; ++i) {
    const InfoList one = Result(i);
    if (one.FindProc(PMIX_PROCID) != ProcId{"job", 2}) continue;
    EXPECT_EQ(one.FindUint(PMIX_PROC_PID), 300u);
    EXPECT_EQ(one.FindString(PMIX_HOSTNAME), "n1");
    EXPECT_EQ(one.Find(PMIX_PROC_RSS)->value.data.fval, 5.0F);
    return;
  }
  FAIL() << "rank 2 is missing";
}

TEST_F(UsageQueriesTest, ANamedProcessIsMeasuredByItsAgent) {
  wanted_.fields.proc = kRss;
  wanted_.targets.procs = {{"job", 2}};
  Want();
  EXPECT_TRUE(reads_.empty());
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].second.rank, 2u);
  // The agent also reports other processes, or is too old to measure.
  Reply(asked_[0], {{2, 300, PMIX_PROC_STATE_RUNNING, 0, Bytes()}});
  EXPECT_EQ(status_, kSuccess);
  EXPECT_TRUE(results_.empty());
}

TEST_F(UsageQueriesTest, OnlyNamedRanksAreReported) {
  wanted_.fields.proc = kRss;
  wanted_.targets.procs = {{"job", 1}};
  Want();
  EXPECT_TRUE(asked_.empty());
  ASSERT_EQ(reads_.size(), 1u);
  EXPECT_EQ(reads_[0].users, (std::vector<int>{101}));
  Read(0, {Rss(1)});
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(Result(0).FindProc(PMIX_PROCID), (ProcId{"job", 1}));
}

TEST_F(UsageQueriesTest, ProcessesAreSelectedByTheirPids) {
  wanted_.fields.proc = kRss;
  wanted_.targets.pids = {{"n0", 0, 101}, {"n0", 0, 102}};
  Want();
  EXPECT_TRUE(asked_.empty());
  ASSERT_EQ(reads_.size(), 1u);
  EXPECT_EQ(reads_[0].users, (std::vector<int>{100, 101}))
      << "102 is of another user";
  Read(0, {Rss(1), Rss(2)});
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(Result(0).FindProc(PMIX_PROCID), (ProcId{"job", 1}));
}

TEST_F(UsageQueriesTest, ProcessesOfNamedNodesAreMeasured) {
  wanted_.fields.proc = kRss;
  wanted_.targets.nodeids = {0};
  Want();
  EXPECT_TRUE(asked_.empty());
  ASSERT_EQ(reads_.size(), 1u);
  wanted_.targets.nodeids.clear();
  wanted_.targets.local_only = true;
  Want();
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(reads_.size(), 1u);
}

TEST_F(UsageQueriesTest, JobsHiddenFromTheCallerAreNotFound) {
  wanted_.fields.proc = kRss;
  const auto status_of = [&](UsageTargets targets) {
    is_taken_ = false;
    status_ = 1;
    wanted_.targets = std::move(targets);
    Want();
    EXPECT_TRUE(asked_.empty());
    EXPECT_TRUE(reads_.empty());
    return status_;
  };
  UsageTargets theirs;
  theirs.procs = {{"theirs", 0}};
  EXPECT_EQ(status_of(theirs), kErrNotFound);
  UsageTargets rank;
  rank.procs = {{"job", 3}};
  EXPECT_EQ(status_of(rank), kErrNotFound);
  UsageTargets host;
  host.hosts = {"elsewhere"};
  EXPECT_EQ(status_of(host), kErrNotFound);
  UsageTargets pid;
  pid.pids = {{"", 3, -1}};
  EXPECT_EQ(status_of(pid), kErrNotFound);
  wanted_.caller = {"gone", 0};
  EXPECT_EQ(status_of({}), kErrNotFound);
}

TEST_F(UsageQueriesTest, TheMapOfAnUnknownJobIsRequested) {
  wanted_.fields.proc = kRss;
  wanted_.targets.procs = {{"far", kRankWildcard}};
  CoreEvents events;
  queries_.set_events(&events);
  Want();
  const auto wanted = TakeAll<MapWanted>(&events);
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].nspace, "far");
  EXPECT_FALSE(is_taken_);
  Actions out;
  queries_.OnJobUnknown({0, out}, "far");
  Take(out);
  EXPECT_EQ(status_, kErrNotFound);
}

Bytes NodeStatistics() {
  const InfoList disk = {{PMIX_DISK_ID, Value::String("sda")},
                         {PMIX_DISK_READ_SECTORS, Value::Uint64(7)}};
  const InfoList net = {{PMIX_NETWORK_ID, Value::String("lo")},
                        {PMIX_NET_SENT_BYTES, Value::Uint64(8)}};
  InfoList all = {{PMIX_NODE_LOAD_AVG, Value::Float(2)}};
  all.Add(PMIX_DISK_RESOURCE_USAGE, Value::InfoArray(disk));
  all.Add(PMIX_NETWORK_RESOURCE_USAGE, Value::InfoArray(net));
  return Encoded(all);
}

TEST_F(UsageQueriesTest, NodesOfTheJobAreMeasured) {
  wanted_.fields.node = AllUsage(kNodeUsage);
  wanted_.fields.net = AllUsage(kNetUsage);
  wanted_.targets.disks = {"sdb"};
  Want();
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].first, 1u);
  EXPECT_EQ(asked_[0].second.nspace, "");
  EXPECT_EQ(asked_[0].second.usage, wanted_.fields);
  ASSERT_EQ(reads_.size(), 1u);
  EXPECT_TRUE(reads_[0].users.empty());
  Read(0, {}, NodeStatistics());
  Reply(asked_[0], {}, NodeStatistics());
  ASSERT_EQ(results_.size(), 2u);
  const InfoList node = Result(1);
  EXPECT_EQ(KeyOf(results_[1]), PMIX_NODE_RESOURCE_USAGE);
  EXPECT_EQ(KeyOf(node[0]), PMIX_HOSTNAME);
  EXPECT_EQ(node.FindString(PMIX_HOSTNAME), "n1");
  EXPECT_EQ(node.FindUint(PMIX_NODEID), 1u);
  EXPECT_TRUE(node.Has(PMIX_NODE_LOAD_AVG));
  EXPECT_TRUE(node.Has(PMIX_NETWORK_RESOURCE_USAGE));
  EXPECT_FALSE(node.Has(PMIX_DISK_RESOURCE_USAGE)) << "another disk";
}

TEST_F(UsageQueriesTest, DisksOfThisNodeAreMeasured) {
  wanted_.fields.disk = AllUsage(kDiskUsage);
  Want();
  EXPECT_TRUE(asked_.empty());
  ASSERT_EQ(reads_.size(), 1u);
  Read(0, {}, NodeStatistics());
  ASSERT_EQ(results_.size(), 2u);
  const InfoList disk = Result(0);
  EXPECT_EQ(KeyOf(results_[0]), PMIX_DISK_RESOURCE_USAGE);
  EXPECT_EQ(KeyOf(disk[0]), PMIX_DISK_ID);
  EXPECT_EQ(disk.FindString(PMIX_HOSTNAME), "n0");
  EXPECT_EQ(disk.FindUint(PMIX_DISK_READ_SECTORS), 7u);
}

TEST_F(UsageQueriesTest, DoesNotWaitForALostAgent) {
  wanted_.fields.proc = kRss;
  wanted_.targets.procs = {{"job", kRankWildcard}};
  Want();
  Read(0, {Rss(1), Rss(2)});
  EXPECT_FALSE(is_taken_);
  Actions out;
  queries_.OnTick({kQueryTime, out});
  Take(out);
  EXPECT_EQ(status_, kSuccess);
  EXPECT_EQ(results_.size(), 2u);
  EXPECT_EQ(queries_.size(), 0u);
}

TEST_F(UsageQueriesTest, TheSizeOfASampleIsLimited) {
  wanted_.fields.proc = kRss;
  wanted_.targets.procs = {{"job", 0}};
  Want();
  const std::string text(kMaxUsageBytes, 'x');
  Read(0, {Encoded({{PMIX_CMD_LINE, Value::String(text)}})});
  EXPECT_EQ(status_, kErrOutOfResource);
  EXPECT_TRUE(results_.empty());
}

TEST_F(UsageQueriesTest, MalformedStatisticsOfAnAgentAreIgnored) {
  wanted_.fields.proc = kRss;
  wanted_.targets.procs = {{"job", 2}};
  Want();
  Reply(asked_.at(0),
        {{2, 300, PMIX_PROC_STATE_RUNNING, 0, Bytes(std::string("\xff\xff"))}});
  EXPECT_EQ(status_, kSuccess);
  EXPECT_TRUE(results_.empty());
}

}  // namespace
}  // namespace canopy::core
