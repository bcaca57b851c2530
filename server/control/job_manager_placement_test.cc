// Jobs that wait for the host to say where and when they run.
#include <gtest/gtest.h>
#include <signal.h>

#include <set>
#include <string>
#include <vector>

#include "common/status.h"
#include "pmix_common.h"
#include "server/control/job_manager_testing.h"

namespace canopy::control {
namespace {

using core::JobPhase;

class PlacementTest : public JobManagerTest {
 protected:
  PlacementTest() { placement_.keeps = true; }

  void Ask(const std::string& queued_as = "", int64_t since_ms = 0) {
    manager_->OnLauncher(kLauncher, &stream_);
    v1::RunRequest request;
    v1::Launch* const launch = request.mutable_launch();
    launch->set_token("token");
    launch->set_queued_as(queued_as);
    launch->set_queued_since_ms(since_ms);
    launch->add_apps()->add_argv("program");
    launch->mutable_apps(0)->set_num_procs(2);
    manager_->OnRequest(kLauncher, request);
  }
  v1::JobEnd End() { return stream_.Of(v1::RunEvent::kEnd).at(0).end(); }
};

TEST_F(PlacementTest, AJobWaitsAndItsLauncherHearsWhy) {
  Ask();
  ASSERT_EQ(placement_.asked.size(), 1u);
  EXPECT_EQ(placement_.asked[0].id, (PlacementId{"first", 1}));
  EXPECT_EQ(placement_.asked[0].num_slots, 2u);
  EXPECT_FALSE(placement_.asked[0].again);
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_TRUE(manager_->jobs().empty());
  EXPECT_EQ(manager_->queued().size(), 1u);
  placement_.listener->OnQueued({"first", 1}, {"no slots", 0, 3});
  const v1::JobQueued queued = stream_.Of(v1::RunEvent::kQueued).at(0).queued();
  EXPECT_EQ(queued.name(), "first");
  EXPECT_EQ(queued.reason(), "no slots");
  EXPECT_EQ(queued.position(), 3u);
  EXPECT_GT(queued.since_ms(), 0);
  EXPECT_EQ(queued.grace_ms(), 1000u);
}

TEST_F(PlacementTest, AGrantLaunchesItAndTheHostIsTold) {
  Ask();
  placement_.Grant();
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().at(0).job->nspace, "first");
  EXPECT_EQ(manager_->queued().size(), 0u);
  EXPECT_EQ(records_.jobs.at("first").facts.placed.host_job, "host job");
  ASSERT_EQ(placement_.launched.size(), 1u);
  EXPECT_EQ(placement_.launched[0].nodes.size(), 2u);
  EXPECT_EQ(placement_.launched[0].nspace, "first");
  Change("first", JobPhase::kRunning, 2);
  Change("first", JobPhase::kEnded, 2, kErrJobNonZeroTerm, 3);
  EXPECT_EQ(placement_.phases,
            (std::vector<JobPhase>{JobPhase::kRunning, JobPhase::kEnded}));
  ASSERT_EQ(placement_.released.size(), 1u);
  EXPECT_EQ(placement_.released[0].host_job, "host job");
  EXPECT_EQ(placement_.ends[0].exit_code, 3);
  EXPECT_TRUE(placement_.ends[0].last);
}

TEST_F(PlacementTest, OneThatIsRefusedEndsWithTheReason) {
  Ask();
  placement_.listener->OnRefused({"first", 1},
                                 Status(kErrJobAllocFailed, "never"));
  EXPECT_EQ(End().status(), kErrJobAllocFailed);
  EXPECT_EQ(End().text(), "never");
  EXPECT_TRUE(stream_.finished);
  EXPECT_TRUE(placement_.released.empty());
}

TEST_F(PlacementTest, WhatCannotBeMappedIsReleased) {
  Ask();
  launch_refusal_ = Status(kErrJobAllocFailed, "no such node");
  placement_.Grant();
  EXPECT_EQ(End().text(), "no such node");
  ASSERT_EQ(placement_.released.size(), 1u);
  EXPECT_EQ(placement_.released[0].id.request, "first");
  EXPECT_EQ(placement_.released[0].nspace, "");
  EXPECT_TRUE(placement_.launched.empty());
}

TEST_F(PlacementTest, LateAndDoubleAnswersAreIgnored) {
  Ask();
  placement_.listener->OnGranted({"first", 2}, {});
  placement_.listener->OnGranted({"other", 1}, {});
  EXPECT_TRUE(sink_.inputs.empty());
  placement_.Grant();
  placement_.Grant();
  placement_.listener->OnRefused({"first", 1}, Status(kError, "late"));
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().size(), 1u);
}

TEST_F(PlacementTest, AKillTakesItOutOfTheQueue) {
  Ask();
  v1::RunRequest kill;
  kill.mutable_kill()->set_reason("the launcher got SIGINT");
  manager_->OnRequest(kLauncher, kill);
  EXPECT_EQ(placement_.cancelled.size(), 1u);
  EXPECT_EQ(End().status(), kErrJobKilledByCmd);
  EXPECT_EQ(End().exit_code(), 128 + SIGTERM);
  EXPECT_EQ(manager_->queued().size(), 0u);
}

TEST_F(PlacementTest, SoDoesItsNameAndTheEndOfAllAndOfTheLauncher) {
  Ask();
  EXPECT_FALSE(manager_->CancelQueued("other", "why"));
  EXPECT_TRUE(manager_->CancelQueued("first", "why"));
  EXPECT_EQ(End().text(), "why");
  Ask();
  bool done = false;
  manager_->KillAll("down", [&] { done = true; });
  EXPECT_TRUE(done);
  EXPECT_EQ(placement_.cancelled.size(), 2u);
  Ask();
  manager_->OnGone(kLauncher);
  EXPECT_EQ(placement_.cancelled.size(), 3u);
  EXPECT_EQ(manager_->queued().size(), 0u);
}

TEST_F(PlacementTest, InputThatCameEarlyReachesTheJob) {
  Ask();
  v1::RunRequest input;
  input.mutable_input()->set_data("early");
  manager_->OnRequest(kLauncher, input);
  EXPECT_TRUE(sink_.inputs.empty());
  placement_.Grant();
  EXPECT_EQ(sink_.Take<core::InputOffered>().at(0).nspace, "first");
}

TEST_F(PlacementTest, AJobThatWaitedAtAPredecessorKeepsItsName) {
  Ask("canopy-1234-7", 99);
  EXPECT_EQ(placement_.asked[0].id.request, "canopy-1234-7");
  EXPECT_EQ(placement_.asked[0].since_ms, 99);
  EXPECT_TRUE(placement_.asked[0].again);
  placement_.Grant();
  EXPECT_TRUE(manager_->jobs().contains("canopy-1234-7"));
}

TEST_F(PlacementTest, NoLauncherTakesTheNameOfAnother) {
  Ask("../../canopy");
  EXPECT_EQ(placement_.asked[0].id.request, "first");
  EXPECT_FALSE(placement_.asked[0].again);
}

TEST_F(PlacementTest, ASpawnWaitsUnderANameThatStays) {
  placement_.keeps = false;
  Launch();
  placement_.keeps = true;
  Spawn("first", 5);
  EXPECT_EQ(placement_.asked.back().id.request, "first.1.5");
  EXPECT_EQ(placement_.asked.back().parent, "first");
  EXPECT_EQ(placement_.asked.back().caller.process, (ProcId{"first", 1}));
  Spawn("first", 5);
  EXPECT_EQ(placement_.asked.size(), 2u) << "it waits already";
  placement_.Grant();
  Change("child1", JobPhase::kRunning, 2);
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).nspace, "child1");
  EXPECT_EQ(records_.jobs.at("child1").facts.placed.host_job, "host job");
}

TEST_F(PlacementTest, WhatIsRequiredOfASchedulerNeedsOne) {
  placement_.keeps = false;
  Launch();
  const Bytes call(CallBytes(0, false, PMIX_ALLOC_QUEUE));
  manager_->OnSpawn({{"first", 1}, 5, call});
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrNotSupported);
  placement_.keeps = true;
  manager_->OnSpawn({{"first", 1}, 6, call});
  EXPECT_TRUE(sink_.Take<core::SpawnDone>().empty());
  EXPECT_EQ(placement_.asked.back().id.request, "first.1.6");
}

TEST_F(PlacementTest, ASpawnThatWaitsEndsWithTheJobOfItsSpawner) {
  placement_.keeps = false;
  Launch();
  placement_.keeps = true;
  Spawn("first", 5);
  Change("first", JobPhase::kEnded, 2);
  EXPECT_EQ(placement_.cancelled.size(), 1u);
  EXPECT_EQ(manager_->queued().size(), 0u);
}

TEST_F(PlacementTest, ASpawnWaitsNoLongerThanItMay) {
  placement_.keeps = false;
  Launch();
  placement_.keeps = true;
  manager_->OnSpawn({{"first", 1}, 5, Bytes(CallBytes(1))});
  EXPECT_NE(placement_.asked.back().give_up, 0);
  for (int i = 0; i < 300 && manager_->queued().size() > 0; ++i) {
    loop_.RunOnce(10);
  }
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrTimeout);
  EXPECT_EQ(placement_.cancelled.size(), 1u);
}

TEST_F(PlacementTest, WhatTwoJobsShareIsReleasedWithTheLast) {
  placement_.keeps = false;
  Launch();
  placement_.keeps = true;
  SpawnTwo();
  EXPECT_EQ(placement_.asked.back().num_slots, 4u);
  placement_.Grant();
  EXPECT_EQ(placement_.launched.size(), 2u);
  Change("child1", JobPhase::kEnded, 0, kErrJobExeNotFound, 1);
  Change("child2", JobPhase::kEnded, 0, kErrJobCanceled, 1);
  ASSERT_EQ(placement_.ends.size(), 2u);
  EXPECT_FALSE(placement_.ends[0].last);
  EXPECT_TRUE(placement_.ends[1].last);
}

TEST_F(PlacementTest, TheHostsOwnNameOfAJobEndsAndSignalsIt) {
  Ask();
  placement_.Grant();
  EXPECT_EQ(manager_->KillHostJob("other", "why", false).code(), kErrNotFound);
  EXPECT_TRUE(manager_->SignalHostJob("host job", SIGUSR1).ok());
  EXPECT_EQ(sink_.Take<core::SignalRequested>().at(0).nspace, "first");
  EXPECT_TRUE(manager_->KillHostJob("host job", "why", true).ok());
  EXPECT_EQ(Killed(), std::set<std::string>{"first"});
}

TEST_F(PlacementTest, TheHostLaunchesAJobOfItsOwn) {
  HostLaunch launch;
  launch.id.request = "batch 1";
  launch.grant.host_job = "7";
  launch.grant.nodes = {{"n0", 1}, {"n1", 1}};
  launch.apps.push_back({{"program"}, 2, {}});
  const Result<std::string> nspace = manager_->LaunchHostJob(launch);
  ASSERT_TRUE(nspace.ok()) << nspace.status().message();
  EXPECT_EQ(manager_->LaunchHostJob(launch).code(), kErrExists);
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().size(), 1u);
  EXPECT_TRUE(records_.jobs.empty()) << "no successor goes on with it";
  EXPECT_EQ(placement_.launched.at(0).id.request, "batch 1");
  Output(*nspace, 0, 5);
  EXPECT_EQ(sink_.Take<core::OutputConsumed>().size(), 1u);
  Change(*nspace, JobPhase::kRunning, 2);
  Change(*nspace, JobPhase::kEnded, 2);
  EXPECT_EQ(placement_.released.at(0).host_job, "7");
  EXPECT_TRUE(manager_->jobs().empty());
}

TEST_F(PlacementTest, AHostsJobThatCannotBeMappedIsNoJob) {
  launch_refusal_ = Status(kErrJobAllocFailed, "no such node");
  EXPECT_EQ(manager_->LaunchHostJob({}).code(), kErrJobAllocFailed);
  EXPECT_TRUE(placement_.launched.empty());
}

TEST_F(PlacementTest, ASuccessorTellsTheHostOfItsJobs) {
  Ask();
  placement_.Grant();
  const auto jobs = records_.All();
  Start();
  manager_->Recover(jobs);
  EXPECT_EQ(placement_.launched.size(), 2u);
  EXPECT_TRUE(placement_.recovered);
  EXPECT_EQ(placement_.launched[1].host_job, "host job");
}

}  // namespace
}  // namespace canopy::control
