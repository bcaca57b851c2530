#include "server/agent/membership/planner.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/topology.h"
#include "server/hwinfo/hwinfo.h"

namespace canopy::agent {
namespace {

// There are three nodes with two slots each. A scheduler grants some of them.
class PlannerTest : public testing::Test {
 protected:
  PlannerTest() : membership_(Config()), planner_(Members(), 0, 7) {
    membership_.Set(Members());
    placed_.id = {"canopy-1-1", 1};
  }

  static bootstrap::v1::Config Config() {
    bootstrap::v1::Config config;
    config.set_radix(2);
    for (const char* name : {"n1", "n2", "n3"}) config.add_member_names(name);
    return config;
  }
  static bootstrap::v1::Members Members() {
    bootstrap::v1::Members members;
    for (const char* name : {"n1", "n2", "n3"}) {
      bootstrap::v1::NodeInfo* const node = members.add_nodes();
      node->set_name(name);
      node->add_aliases(std::string(name) + ".cluster");
      node->set_slots(2);
    }
    return members;
  }

  void Decide(const std::string& name, overlay::Service service) {
    overlay::MemberRecord record = membership_.RecordOf(membership_.Find(name));
    record.service = service;
    membership_.Apply(record);
  }
  void Grant(const std::vector<GrantedNode>& nodes) {
    placed_.grant.nodes = nodes;
  }
  // Plans a job. `host` is the only host of the application, if given.
  control::PlannedJob Plan(uint32_t procs, const std::string& host = "") {
    request_.apps.clear();
    request_.apps.resize(1);
    request_.apps[0].argv = {"program"};
    request_.apps[0].num_procs = procs;
    if (!host.empty()) {
      request_.apps[0].hosts.resize(1);
      request_.apps[0].hosts[0].name = host;
    }
    return planner_.Plan(request_, control::OwnUser(), placed_, jobs_,
                         membership_);
  }
  // Returns the members with two cores each, and these GPUs.
  static bootstrap::v1::Members WithCores(const std::vector<Gpu>& gpus = {}) {
    bootstrap::v1::Members members = Members();
    for (bootstrap::v1::NodeInfo& node : *members.mutable_nodes()) {
      auto topology = hwinfo::FromDescription("core:2 pu:1");
      EXPECT_TRUE(topology.ok());
      topology->gpus = gpus;
      node.set_topology(EncodeTopology(*topology));
    }
    return members;
  }
  void RequestOneProcess() {
    request_.apps.resize(1);
    request_.apps[0].argv = {"program"};
    request_.apps[0].num_procs = 1;
  }
  // Returns the names of the ranks' nodes.
  static std::vector<std::string> Places(const JobSpec& job) {
    std::vector<std::string> out;
    for (const ProcPlacement& proc : job.procs) {
      out.push_back(job.nodes[proc.node].name);
    }
    return out;
  }
  using Names = std::vector<std::string>;

  Membership membership_;
  Planner planner_;
  JobRequest request_;
  control::Placed placed_;
  control::JobRecords jobs_;
};

TEST_F(PlannerTest, AJobUsesTheGrantedSlotsInTheirOrder) {
  Grant({{"n3", 1}, {"n1", 2}});
  const auto job = Plan(3);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ((*job)->nspace, "canopy-1-1");
  EXPECT_EQ(Places(**job), (Names{"n3", "n1", "n1"}));
  EXPECT_FALSE(Plan(4).ok()) << "more than was granted";
  EXPECT_EQ((*Plan(0))->procs.size(), 3u) << "one for each slot";
}

TEST_F(PlannerTest, JobsOfOtherGrantsDoNotUseGrantedSlots) {
  control::JobRecord other;
  auto job = std::make_shared<JobSpec>();
  job->nodes = {{"n1", {}, 0, 2}};
  job->procs = {{0, 0, ""}, {0, 0, ""}};
  other.job = job;
  jobs_["other"] = other;
  Grant({{"n1", 2}});
  EXPECT_TRUE(Plan(2).ok());
  jobs_["other"].facts.placed.id = placed_.id;
  EXPECT_FALSE(Plan(2).ok()) << "it shares what was granted";
}

TEST_F(PlannerTest, ProcessesAreNotBoundToCpusOfOtherJobs) {
  Planner planner(WithCores(), 0, 7);
  RequestOneProcess();
  const auto cpus = [&] {
    const auto job =
        planner.Plan(request_, control::OwnUser(), placed_, jobs_, membership_);
    return job.ok() ? (*job)->procs[0].cpuset : job.status().message();
  };
  Grant({{"n1", 1}});
  EXPECT_EQ(cpus(), "0");
  auto other = std::make_shared<JobSpec>();
  other->nodes = {{"n1", {}, 0, 2}};
  other->procs = {{0, 0, "0"}};
  jobs_["other"].job = other;
  EXPECT_EQ(cpus(), "1") << "under another grant of the same node";
  placed_.grant.nodes.clear();
  EXPECT_EQ(cpus(), "1") << "without a scheduler";
  other->procs[0].cpuset = "";
  EXPECT_EQ(cpus(), "") << "the other job may be anywhere";
  jobs_["other"].facts.tool = true;
  EXPECT_EQ(cpus(), "0");
}

TEST_F(PlannerTest, ProcessesDoNotGetGpusOfOtherJobs) {
  Planner planner(
      WithCores({{GpuKind::kNvidia, "0", {}}, {GpuKind::kNvidia, "1", {}}}), 0,
      7);
  RequestOneProcess();
  request_.places.gpus_per_proc = 1;
  Grant({{"n1", 1}});
  auto other = std::make_shared<JobSpec>();
  other->nodes = {{"n1", {}, 0, 2}};
  other->procs = {{0, 0, ""}};
  other->gpus = {"nvidia:0"};
  jobs_["other"].job = other;
  const auto job =
      planner.Plan(request_, control::OwnUser(), placed_, jobs_, membership_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ((*job)->gpus, Names{"nvidia:1"});
  other->gpus = {"nvidia:0,1"};
  const auto none =
      planner.Plan(request_, control::OwnUser(), placed_, jobs_, membership_);
  EXPECT_EQ(none.code(), kErrJobInsufficientResources);
}

TEST_F(PlannerTest, AJobUsesOnlyTheGrantedCpusAndGpus) {
  Planner planner(
      WithCores({{GpuKind::kNvidia, "0", {}}, {GpuKind::kNvidia, "1", {}}}), 0,
      7);
  RequestOneProcess();
  request_.places.gpus_per_proc = 1;
  Grant({{"n1", 1, *CpuSet::Parse("1"), {"nvidia:1"}, {"DEVICE=7"}}});
  const auto plan = [&] {
    return planner.Plan(request_, control::OwnUser(), placed_, jobs_,
                        membership_);
  };
  auto job = plan();
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ((*job)->procs[0].cpuset, "1");
  EXPECT_EQ((*job)->gpus, Names{"nvidia:1"});
  EXPECT_EQ((*job)->nodes[0].env, Names{"DEVICE=7"});
  request_.places.bind_to = "none";
  EXPECT_EQ((*plan())->procs[0].cpuset, "1") << "it is still confined to them";
}

TEST_F(PlannerTest, AGrantOfMissingCpusOrGpusCannotBeUsed) {
  RequestOneProcess();
  const auto refused = [&](GrantedNode node) {
    Planner planner(WithCores(), 0, 7);
    placed_.grant.nodes = {std::move(node)};
    const auto job =
        planner.Plan(request_, control::OwnUser(), placed_, jobs_, membership_);
    EXPECT_EQ(job.code(), kErrJobAllocFailed);
    return job.status().message();
  };
  EXPECT_NE(refused({"n1", 1, *CpuSet::Parse("1-2")}).find("CPUs 1-2"),
            std::string::npos);
  EXPECT_NE(refused({"n1", 1, {}, {"nvidia:0"}}).find("a GPU"),
            std::string::npos);
  Grant({{"n1", 1, *CpuSet::Parse("0")}});
  EXPECT_NE(Plan(1).status().message().find("CPUs are unknown"),
            std::string::npos);
}

TEST_F(PlannerTest, AnUnusableNodeIsNamedInTheError) {
  const auto refused = [this](const std::string& name) {
    Grant({{name, 1}});
    const auto job = Plan(1);
    EXPECT_EQ(job.code(), kErrJobAllocFailed) << name;
    return job.status().message();
  };
  EXPECT_NE(refused("elsewhere").find("none that takes jobs"),
            std::string::npos);
  membership_.OnNodeStateChanged({1, false, "it burns"});
  EXPECT_NE(refused("n2").find("it burns"), std::string::npos);
  Decide("n3", overlay::Service::kDrained);
  EXPECT_NE(refused("n3").find("none that takes jobs"), std::string::npos);
  Decide("n3", overlay::Service::kInService);
  Grant({{"n3", 1}, {"n3", 1}});
  EXPECT_EQ(Plan(1).code(), kErrJobAllocFailed) << "twice";
}

TEST_F(PlannerTest, FitsCountsTheSlotsOfRunningJobs) {
  ASSERT_TRUE(Plan(5).ok());
  const auto fits = [&] {
    return planner_.Fits(request_, jobs_, membership_, Planner::Away::kLeftOut)
        .code();
  };
  EXPECT_EQ(fits(), kSuccess);
  control::JobRecord other;
  other.job = *Plan(2);
  jobs_["other"] = other;
  request_.apps[0].num_procs = 5;
  EXPECT_EQ(fits(), kErrJobInsufficientResources);
}

TEST_F(PlannerTest, ANodeWhoseAgentDoesNotAnswerIsUsedLast) {
  membership_.set_why_away(
      [](NodeId node) { return node == 0 ? "its agent does not answer" : ""; });
  EXPECT_EQ(membership_.AwayNodes(), "no answer from the agent of n1");
  EXPECT_EQ(Places(**Plan(2)), (Names{"n2", "n2"}));
  EXPECT_EQ(Places(**Plan(5)).size(), 5u) << "there is no other room";
  EXPECT_EQ(Places(**Plan(1, "n1")), (Names{"n1"})) << "its user has named it";
  const auto fits = [&](Planner::Away away) {
    return planner_.Fits(request_, jobs_, membership_, away).ok();
  };
  EXPECT_FALSE(fits(Planner::Away::kLeftOut));
  EXPECT_TRUE(fits(Planner::Away::kIncluded));
  spawn::SpawnCall call;
  call.apps.resize(1);
  call.apps[0].argv = {"program"};
  const auto spawned =
      planner_.PlanSpawn(call, {{"tool", 0}}, placed_, jobs_, membership_);
  EXPECT_EQ(Places(**spawned), (Names{"n2"}));
  Grant({{"n2", 1}, {"n1", 1}});
  const auto granted = Plan(1);
  EXPECT_EQ(granted.code(), kErrJobAllocFailed);
  EXPECT_EQ(
      granted.status().message(),
      "the scheduler has granted node 'n1', and its agent does not answer");
  membership_.OnNodeStateChanged({0, false, "killed"});
  EXPECT_EQ(membership_.AwayNodes(), "") << "it is lost";
}

TEST_F(PlannerTest, RelativeHostsAreReplacedByNodesOfTheOverlayOrTheSpawner) {
  using Hosts = std::vector<Host>;
  const auto named = [this](Hosts hosts, const std::string& spawner = "",
                            bool empty = true) {
    const Status status =
        planner_.NameHosts(spawner, empty, jobs_, membership_, &hosts);
    Names out = {status.message()};
    for (const Host& host : hosts) {
      out.push_back(host.name +
                    (host.slots_given ? ":" + std::to_string(host.slots) : ""));
    }
    return out;
  };
  EXPECT_EQ(named({{"+n2", 3, true}, {"n1", 0, false}, {"+any", 2, true}}),
            (Names{"", "n3:3", "n1", "+any:2"}));
  auto other = std::make_shared<JobSpec>();
  other->nodes = {{"n1", {}, 0, 2}};
  other->procs = {{0, 0, ""}};
  other->allocation = {"n3", "n1"};
  jobs_["other"].job = other;
  EXPECT_EQ(named({{"+e", 0, false}}), (Names{"", "n2", "n3"}));
  EXPECT_EQ(named({{"+e", 1, true}}), (Names{"", "n2"}));
  EXPECT_EQ(named({{"+e", 1, true}}, "", false), (Names{"", "+e:1"}));
  EXPECT_EQ(named({{"+n1", 0, false}}, "other"), (Names{"", "n1"}));
  EXPECT_EQ(named({{"+e", 0, false}}, "other"), (Names{"", "n3"}));
  EXPECT_EQ(named({{"+n2", 0, false}}, "other")[0],
            "there is no node +n2: the job has 2 nodes, +n0 to +n1");
  membership_.OnNodeStateChanged({1, false, "killed"});
  EXPECT_EQ(named({{"+n2", 0, false}}), (Names{"", "n3"}))
      << "a lost node keeps its number";
  EXPECT_EQ(named({{"+e", 0, false}}), (Names{"", "n3"}));
}

TEST_F(PlannerTest, SlotsOfRequestedHostsAreLimitedByTheGrant) {
  request_.places.hosts = {{"n1", 8, true, {}},
                           {"n2.cluster", 0, false, {}},
                           {"n2.cluster", 0, false, {}}};
  Grant({{"n2", 1}, {"n1", 1}});
  const auto job = Plan(2);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_FALSE(Plan(3).ok());
  Grant({{"n2", 2}});
  EXPECT_EQ(Places(**Plan(2)), (Names{"n2", "n2"}));
}

TEST_F(PlannerTest, AGrantOutsideTheRequestedHostsIsRefused) {
  const auto refused = [this] {
    const auto job = Plan(1);
    EXPECT_EQ(job.code(), kErrJobAllocFailed);
    return job.status().message();
  };
  request_.places.hosts.resize(1);
  request_.places.hosts[0].name = "n3";
  Grant({{"n1", 1}});
  EXPECT_NE(refused().find("'n1', which is none of the job's hosts"),
            std::string::npos);
  Grant({{"n3", 1}, {"n1", 1}});
  EXPECT_NE(refused().find("'n1'"), std::string::npos);
  Grant({{"n3", 2}});
  EXPECT_EQ(Places(**Plan(2)), (Names{"n3", "n3"}));
  request_.places.hosts[0].slots = 1;
  request_.places.hosts[0].slots_given = true;
  EXPECT_FALSE(Plan(2).ok()) << "one slot of n3 was named";
  EXPECT_EQ(Plan(1, "n1").code(), kErrJobAllocFailed)
      << "the application has hosts of its own";
  Grant({{"n1", 1}});
  EXPECT_EQ(Places(**Plan(1, "n1")), (Names{"n1"}));
}

TEST_F(PlannerTest,
       TheShorterTimeLimitAppliesAndGrantedVariablesReplaceRequestedOnes) {
  Grant({{"n1", 1}});
  placed_.grant.time_limit_seconds = 30;
  placed_.grant.env = {"A=new"};
  request_.env = {"A=old", "AB=old"};
  EXPECT_EQ((*Plan(1))->timeout_seconds, 30u);
  EXPECT_EQ((*Plan(1))->env, (Names{"A=new", "AB=old"}));
  request_.timeout_seconds = 20;
  EXPECT_EQ((*Plan(1))->timeout_seconds, 20u);
}

TEST_F(PlannerTest, TheJobMapHasTheSchedulersNameOfTheJob) {
  EXPECT_EQ((*Plan(1))->host_job, "");
  Grant({{"n1", 1}});
  placed_.grant.host_job = "17";
  EXPECT_EQ((*Plan(1))->host_job, "17");
}

TEST_F(PlannerTest, AnAddedNodeIsUsedOnceItsAgentIsUpAndARemovedOneIsNot) {
  bootstrap::v1::NodeInfo info;
  info.set_name("n4");
  info.set_slots(2);
  overlay::MemberRecord record;
  record.node = 3;
  record.name = "n4";
  record.description = info.SerializeAsString();
  membership_.Apply(record);
  planner_.SetNode(3, info);
  EXPECT_FALSE(Plan(8).ok());
  membership_.OnNodeStateChanged({3, true, ""});
  EXPECT_EQ(Places(**Plan(8)).back(), "n4");
  Decide("n1", overlay::Service::kRemoved);
  EXPECT_EQ(Places(**Plan(6)).front(), "n2");
  EXPECT_FALSE(Plan(1, "n1").ok());
}

TEST_F(PlannerTest, WithoutAGrantADrainedNodeIsNotUsed) {
  Decide("n1", overlay::Service::kDrained);
  EXPECT_EQ(Places(**Plan(2)), (Names{"n2", "n2"}));
}

TEST_F(PlannerTest, ASpawnWithAMissingHostOrTargetIsRefused) {
  spawn::SpawnCall call;
  call.apps.resize(1);
  call.apps[0].argv = {"program"};
  const auto status = [&] {
    return planner_.PlanSpawn(call, {{"tool", 0}}, placed_, jobs_, membership_)
        .code();
  };
  EXPECT_EQ(status(), kSuccess);
  call.placing.hosts = {{"elsewhere", 1, true, {}}};
  EXPECT_EQ(status(), kErrJobAllocFailed) << "a host";
  call.placing.hosts.clear();
  call.request.places.tool = true;
  call.request.daemons.emplace().target = {"nobody", kRankWildcard};
  EXPECT_EQ(status(), kErrNotFound) << "what its daemons are to debug";
}

}  // namespace
}  // namespace canopy::agent
