// Tests jobs that wait for the host to decide where and when they run.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/job_description.h"
#include "common/status.h"
#include "pmix_common.h"
#include "server/control/job_manager_testing.h"

namespace canopy::control {
namespace {

using core::JobPhase;

JobRequest TwoProcesses() {
  JobRequest job;
  job.apps.push_back({"", {"program"}, {}, "", 2});
  return job;
}

class PlacementTest : public JobManagerTest {
 protected:
  PlacementTest() { placement_.keeps = true; }

  void Ask(const std::string& queued_as = "", int64_t since_ms = 0) {
    manager_->OnLauncher(kLauncher, &stream_, OwnUser());
    v1::RunRequest request;
    v1::Launch* const launch = request.mutable_launch();
    launch->set_token("token");
    launch->set_queued_as(queued_as);
    launch->set_queued_since_ms(since_ms);
    launch->set_requeues(requeues_);
    launch->set_allow_run_as_root(true);
    JobRequest job = TwoProcesses();
    job.hints = hints_;
    job.places.hosts = hosts_;
    launch->set_request(EncodeJobRequest(job));
    manager_->OnRequest(kLauncher, request);
  }
  void WaitForConsumed(uint64_t bytes) {
    uint64_t consumed = 0;
    for (int i = 0; i < 2000 && consumed < bytes; ++i) {
      loop_.RunOnce(10);
      for (const auto& in : sink_.Take<core::OutputConsumed>()) {
        consumed += in.bytes;
      }
    }
    EXPECT_EQ(consumed, bytes);
  }
  Result<std::string> LaunchHostJob(const HostLaunch& launch) {
    std::optional<Result<std::string>> launched;
    manager_->commands().LaunchHostJob(
        launch,
        [&](const Result<std::string>& nspace) { launched.emplace(nspace); });
    for (int i = 0; i < 2000 && !launched; ++i) loop_.RunOnce(10);
    if (launched) return *launched;
    return Status(kError, "it does not end");
  }
  v1::JobEnd End() { return stream_.Of(v1::RunEvent::kEnd).at(0).end(); }

  bool requeues_ = true;
  SchedulerHints hints_;
  std::vector<Host> hosts_;
};

TEST_F(PlacementTest, AWaitingJobsLauncherReceivesTheReason) {
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

// The launcher may be unable to reach the new leader, and then requests the job
// again here.
TEST_F(PlacementTest, AQueuedJobIsRequestedAgainWhenAnotherAgentLeads) {
  Ask();
  manager_->MoveQueued();
  EXPECT_EQ(manager_->queued().size(), 0u);
  EXPECT_TRUE(stream_.Of(v1::RunEvent::kEnd).empty());
  const v1::JobRequeued moved =
      stream_.Of(v1::RunEvent::kRequeued).at(0).requeued();
  EXPECT_TRUE(moved.elsewhere());
  EXPECT_EQ(moved.name(), "first");
  EXPECT_EQ(moved.attempt(), 2u);
  EXPECT_EQ(moved.since_ms(), placement_.asked.at(0).since_ms);
  Ask(moved.name(), moved.since_ms());
  ASSERT_EQ(placement_.asked.size(), 2u);
  EXPECT_EQ(placement_.asked[1].id.request, "first");
  EXPECT_EQ(placement_.asked[1].since_ms, moved.since_ms());
}

TEST_F(PlacementTest, AQueuedJobOfAnOlderLauncherStays) {
  requeues_ = false;
  Ask();
  manager_->MoveQueued();
  EXPECT_EQ(manager_->queued().size(), 1u);
  EXPECT_TRUE(stream_.Of(v1::RunEvent::kRequeued).empty());
}

TEST_F(PlacementTest, AGrantLaunchesTheJobAndNotifiesTheHost) {
  Ask();
  placement_.Grant();
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().at(0).job->nspace, "first");
  EXPECT_EQ(manager_->queued().size(), 0u);
  EXPECT_EQ(records_.jobs.at("first").facts.placed.host_job, "host job");
  ASSERT_EQ(placement_.launched.size(), 1u);
  EXPECT_EQ(placement_.launched[0].nodes.size(), 2u);
  EXPECT_EQ(placement_.launched[0].nspace, "first");
  Change("first", JobPhase::kRunning, 2);
  core::JobChanged end;
  end.nspace = "first";
  end.phase = JobPhase::kEnded;
  end.status = kErrJobNonZeroTerm;
  end.exit_code = 3;
  end.used = {{70, 4096}, 2};
  manager_->OnJobChanged(end);
  EXPECT_EQ(placement_.phases,
            (std::vector<JobPhase>{JobPhase::kRunning, JobPhase::kEnded}));
  ASSERT_EQ(placement_.released.size(), 1u);
  EXPECT_EQ(placement_.released[0].host_job, "host job");
  EXPECT_EQ(placement_.ends[0].exit_code, 3);
  EXPECT_EQ(placement_.ends[0].used.sum.cpu_us, 70u);
  EXPECT_EQ(placement_.ends[0].used.ranks, 2u);
  EXPECT_TRUE(placement_.ends[0].last);
}

TEST_F(PlacementTest, ARefusedJobEndsWithTheReason) {
  Ask();
  placement_.listener->OnRefused({"first", 1},
                                 Status(kErrJobAllocFailed, "never"));
  EXPECT_EQ(End().status(), kErrJobAllocFailed);
  EXPECT_EQ(End().text(), "never");
  EXPECT_TRUE(stream_.finished);
  EXPECT_TRUE(placement_.released.empty());
}

TEST_F(PlacementTest, AJobThatCannotBeMappedIsReleased) {
  Ask();
  launch_refusal_ = Status(kErrJobFailedToMap, "no such policy");
  placement_.Grant();
  EXPECT_EQ(End().text(), "no such policy");
  ASSERT_EQ(placement_.released.size(), 1u);
  EXPECT_EQ(placement_.released[0].id.request, "first");
  EXPECT_EQ(placement_.released[0].nspace, "");
  EXPECT_TRUE(placement_.launched.empty());
}

TEST_F(PlacementTest, AGrantThatCannotBeUsedIsReleasedAndAnotherRequested) {
  Ask();
  launch_refusal_ = Status(kErrJobAllocFailed, "no such node");
  placement_.Grant();
  ASSERT_EQ(placement_.released.size(), 1u);
  EXPECT_EQ(placement_.asked.size(), 1u) << "after a pause";
  const v1::JobQueued queued = stream_.Of(v1::RunEvent::kQueued).at(0).queued();
  EXPECT_EQ(queued.reason(),
            "the scheduler's grant cannot be used: no such node; it asks for "
            "other nodes");
  EXPECT_EQ(queued.attempt(), 2u);
  for (int i = 0; i < 2000 && placement_.asked.size() < 2; ++i) {
    loop_.RunOnce(10);
  }
  ASSERT_EQ(placement_.asked.size(), 2u);
  EXPECT_EQ(placement_.asked[1].id, (PlacementId{"first", 2}));
  EXPECT_TRUE(placement_.asked[1].again);
  launch_refusal_ = Status();
  placement_.Grant();
  EXPECT_EQ(placement_.launched.at(0).id.attempt, 2u);
}

TEST_F(PlacementTest, AJobCanBeKilledBeforeItsNextRequest) {
  Ask();
  launch_refusal_ = Status(kErrJobAllocFailed, "no such node");
  placement_.Grant();
  EXPECT_TRUE(manager_->CancelQueued("first", "enough"));
  EXPECT_EQ(End().text(), "enough");
  EXPECT_TRUE(placement_.cancelled.empty()) << "nothing is requested";
}

TEST_F(PlacementTest, TheFourthUnusableGrantEndsTheJob) {
  Ask();
  launch_refusal_ = Status(kErrJobInsufficientResources, "too few CPUs");
  for (size_t grant = 0; grant < 4; ++grant) {
    for (int i = 0; i < 2000 && placement_.asked.size() <= grant; ++i) {
      loop_.RunOnce(10);
    }
    ASSERT_EQ(placement_.asked.size(), grant + 1);
    placement_.Grant();
  }
  EXPECT_EQ(End().text(), "the scheduler's grant cannot be used: too few CPUs");
  EXPECT_EQ(placement_.released.size(), 4u);
}

TEST_F(PlacementTest, ALauncherIsNotifiedThatTheSchedulerIsSilent) {
  Ask();
  for (int i = 0; i < 2000 && stream_.Of(v1::RunEvent::kQueued).empty(); ++i) {
    loop_.RunOnce(10);
  }
  const v1::JobQueued queued = stream_.Of(v1::RunEvent::kQueued).at(0).queued();
  EXPECT_EQ(queued.name(), "first");
  EXPECT_EQ(queued.reason(), "the scheduler has not answered yet");
}

TEST_F(PlacementTest, HintsNeedAScheduler) {
  hints_.queue = "long";
  Ask();
  EXPECT_EQ(placement_.asked.at(0).job.hints.queue, "long");
  placement_.keeps = false;
  manager_->OnGone(kLauncher);
  Ask();
  EXPECT_EQ(End().status(), kErrNotSupported);
  EXPECT_NE(End().text().find("no scheduler"), std::string::npos);
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

TEST_F(PlacementTest, AKillRemovesAQueuedJob) {
  Ask();
  v1::RunRequest kill;
  kill.mutable_kill()->set_reason("the launcher got SIGINT");
  manager_->OnRequest(kLauncher, kill);
  EXPECT_EQ(placement_.cancelled.size(), 1u);
  EXPECT_EQ(End().status(), kErrJobKilledByCmd);
  EXPECT_EQ(End().exit_code(), 128 + SIGTERM);
  EXPECT_EQ(manager_->queued().size(), 0u);
}

TEST_F(PlacementTest, ACancelAShutdownAndALostLauncherRemoveAQueuedJob) {
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

TEST_F(PlacementTest, InputOfAQueuedJobReachesTheJob) {
  Ask();
  v1::RunRequest input;
  input.mutable_input()->set_data("early");
  manager_->OnRequest(kLauncher, input);
  EXPECT_TRUE(sink_.inputs.empty());
  placement_.Grant();
  EXPECT_EQ(sink_.Take<core::InputOffered>().at(0).nspace, "first");
}

TEST_F(PlacementTest, AJobQueuedAtAPredecessorKeepsItsName) {
  Ask("canopy-1234-7", 99);
  EXPECT_EQ(placement_.asked[0].id.request, "canopy-1234-7");
  EXPECT_EQ(placement_.asked[0].since_ms, 99);
  EXPECT_TRUE(placement_.asked[0].again);
  placement_.Grant();
  EXPECT_TRUE(manager_->jobs().contains("canopy-1234-7"));
}

TEST_F(PlacementTest, AnInvalidRequestNameIsReplaced) {
  Ask("../../canopy");
  EXPECT_EQ(placement_.asked[0].id.request, "first");
  EXPECT_FALSE(placement_.asked[0].again);
}

TEST_F(PlacementTest, AQueuedSpawnKeepsItsName) {
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

TEST_F(PlacementTest, RequiredDirectivesForASchedulerNeedAScheduler) {
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

TEST_F(PlacementTest, AQueuedSpawnEndsWithTheJobOfItsSpawner) {
  placement_.keeps = false;
  Launch();
  placement_.keeps = true;
  Spawn("first", 5);
  Change("first", JobPhase::kEnded, 2);
  EXPECT_EQ(placement_.cancelled.size(), 1u);
  EXPECT_EQ(manager_->queued().size(), 0u);
}

TEST_F(PlacementTest, AQueuedSpawnEndsAtItsTimeout) {
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

TEST_F(PlacementTest, AGrantOfTwoJobsIsReleasedWhenTheLastEnds) {
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

TEST_F(PlacementTest, TheHostCanEndAndSignalAJobByItsOwnName) {
  Ask();
  placement_.Grant();
  EXPECT_EQ(manager_->commands().KillHostJob("other", "why", false).code(),
            kErrNotFound);
  EXPECT_TRUE(manager_->commands().SignalHostJob("host job", SIGUSR1).ok());
  EXPECT_EQ(sink_.Take<core::SignalRequested>().at(0).nspace, "first");
  EXPECT_TRUE(manager_->commands().KillHostJob("host job", "why", true).ok());
  EXPECT_EQ(Killed(), std::set<std::string>{"first"});
}

TEST_F(PlacementTest, TheHostCanChangeTheTimeLimitOfAJob) {
  Ask();
  placement_.Grant();
  EXPECT_EQ(manager_->commands().SetHostTimeLimit("other", 60, 5).code(),
            kErrNotFound);
  EXPECT_TRUE(manager_->commands().SetHostTimeLimit("host job", 60, 5).ok());
  const core::TimeLimitSet set = sink_.Take<core::TimeLimitSet>().at(0);
  EXPECT_EQ(set.nspace, "first");
  EXPECT_EQ(set.seconds, 60u);
  EXPECT_EQ(set.warn_seconds, 5u);
}

class RequeueTest : public PlacementTest {
 protected:
  void Run() {
    Ask();
    placement_.Grant();
    Change("first", JobPhase::kRunning, 2);
    sink_.inputs.clear();
  }
  Status Requeue() {
    return manager_->commands().RequeueHostJob("host job", "for others");
  }
  void EndFirst() {
    Change("first", JobPhase::kEnding, 2, kErrJobKilledByCmd, 143);
    Change("first", JobPhase::kEnded, 2, kErrJobKilledByCmd, 143);
  }
  v1::JobRequeued Requeued() {
    return stream_.Of(v1::RunEvent::kRequeued).at(0).requeued();
  }
  // Requests the job again as its launcher does.
  void AskAnew(const v1::JobRequeued& requeued, uint64_t launcher = kLauncher) {
    v1::RunRequest request;
    v1::Launch* const launch = request.mutable_launch();
    launch->set_token("token");
    launch->set_requeues(true);
    launch->set_queued_as(requeued.name());
    launch->set_queued_since_ms(requeued.since_ms());
    launch->set_attempt(requeued.attempt());
    launch->set_allow_run_as_root(true);
    launch->set_request(EncodeJobRequest(TwoProcesses()));
    manager_->OnRequest(launcher, request);
  }
};

TEST_F(RequeueTest, ARequeueEndsTheJobAndRequestsItAgain) {
  new_name_ = "canopy-1-1";
  Ask();
  placement_.Grant();
  Change("canopy-1-1", JobPhase::kRunning, 2);
  ASSERT_TRUE(Requeue().ok());
  EXPECT_EQ(Killed(), std::set<std::string>{"canopy-1-1"});
  Change("canopy-1-1", JobPhase::kEnded, 2, kErrJobKilledByCmd, 143);
  EXPECT_TRUE(stream_.Of(v1::RunEvent::kEnd).empty());
  EXPECT_FALSE(stream_.finished);
  EXPECT_EQ(placement_.ends.at(0).status, kErrJobKilledByCmd);
  EXPECT_TRUE(placement_.ends[0].last);
  EXPECT_EQ(Requeued().name(), "canopy-1-1");
  EXPECT_EQ(Requeued().attempt(), 2u);
  EXPECT_EQ(Requeued().reason(), "for others");
  EXPECT_EQ(Requeued().since_ms(), placement_.asked[0].since_ms);

  new_name_ = "canopy-1-2";
  AskAnew(Requeued());
  EXPECT_EQ(placement_.asked.at(1).id, (PlacementId{"canopy-1-1", 2}));
  EXPECT_TRUE(placement_.asked[1].again);
  EXPECT_EQ(placement_.asked[1].since_ms, placement_.asked[0].since_ms);
  EXPECT_FALSE(records_.jobs.contains("canopy-1-1")) << "no successor's";
  // A late grant for the earlier attempt has no effect.
  placement_.listener->OnGranted({"canopy-1-1", 1}, {});
  EXPECT_EQ(manager_->queued().size(), 1u);
  placement_.Grant();
  EXPECT_TRUE(manager_->jobs().contains("canopy-1-2"));
  EXPECT_EQ(placement_.launched.at(1).id, (PlacementId{"canopy-1-1", 2}));
  Change("canopy-1-2", JobPhase::kEnded, 2);
  EXPECT_EQ(End().exit_code(), 0);
  EXPECT_EQ(placement_.released.at(1).id.attempt, 2u);
}

TEST_F(RequeueTest, AJobIsRequeuedIfItsNodeIsLostBeforeTheStart) {
  new_name_ = "canopy-1-1";
  Ask();
  placement_.Grant();
  Change("canopy-1-1", JobPhase::kPreparing, 0);
  Change("canopy-1-1", JobPhase::kEnding, 0, kErrNodeDown, 1);
  EXPECT_TRUE(records_.jobs.at("canopy-1-1").facts.requeued);
  Change("canopy-1-1", JobPhase::kEnded, 0, kErrNodeDown, 1);
  EXPECT_TRUE(stream_.Of(v1::RunEvent::kEnd).empty());
  EXPECT_EQ(Requeued().attempt(), 2u);
  EXPECT_EQ(placement_.released.size(), 1u) << "what was granted is free";
  EXPECT_EQ(placement_.ends[0].status, kErrNodeDown);
  new_name_ = "canopy-1-2";
  AskAnew(Requeued());
  EXPECT_EQ(placement_.asked.at(1).id, (PlacementId{"canopy-1-1", 2}));
  placement_.Grant();
  Change("canopy-1-2", JobPhase::kRunning, 2);
  Change("canopy-1-2", JobPhase::kEnded, 2, kErrNodeDown, 1);
  EXPECT_EQ(End().status(), kErrNodeDown) << "its processes were lost";
}

TEST_F(RequeueTest, WithoutASchedulerANewAttemptHasANewName) {
  placement_.keeps = false;
  Ask();
  Change("first", JobPhase::kEnded, 0, kErrNodeDown, 1);
  EXPECT_EQ(Requeued().name(), "first");
  EXPECT_GT(Requeued().since_ms(), 0);
  new_name_ = "second";
  AskAnew(Requeued());
  EXPECT_TRUE(manager_->jobs().contains("second"));
}

TEST_F(RequeueTest, AJobFailsAfterALimitedNumberOfLostNodes) {
  placement_.keeps = false;
  Ask();
  for (int i = 0; i < 3; ++i) {
    const std::string name = i == 0 ? "first" : new_name_;
    Change(name, JobPhase::kEnded, 0, kErrNodeDown, 1);
    new_name_ = "job" + std::to_string(i);
    AskAnew(stream_.Of(v1::RunEvent::kRequeued).back().requeued());
  }
  EXPECT_TRUE(stream_.Of(v1::RunEvent::kEnd).empty());
  Change(new_name_, JobPhase::kEnded, 0, kErrNodeDown, 1);
  EXPECT_EQ(End().status(), kErrNodeDown);
}

TEST_F(RequeueTest, ASpawnFailsIfItsNodeIsLost) {
  placement_.keeps = false;
  Launch();
  Spawn("first", 5);
  Change("child1", JobPhase::kEnded, 0, kErrNodeDown, 1);
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrJobFailedToLaunch);
}

TEST_F(RequeueTest, ASuccessorDoesNotRequeueAJobThatLosesItsNode) {
  Run();
  Start();
  manager_->Recover(records_.All());
  Stream stream;
  Reattach({}, &stream);
  Change("first", JobPhase::kEnded, 0, kErrNodeDown, 1);
  EXPECT_EQ(stream.Of(v1::RunEvent::kEnd).size(), 1u);
}

TEST_F(PlacementTest, RelativeHostsAreReplacedByNodesInTheRequest) {
  hosts_ = {{"+n1", 0, false}, {"+e", 0, false}};
  Ask();
  const std::vector<Host>& hosts = placement_.asked.at(0).job.places.hosts;
  EXPECT_EQ(hosts.at(0).name, "of ");
  EXPECT_EQ(hosts.at(1).name, "of ");
}

TEST_F(PlacementTest, WithoutASchedulerTheMapperFindsEmptyNodes) {
  hosts_ = {{"+n1", 0, false}, {"+e", 0, false}};
  placement_.keeps = false;
  Ask();
  const std::vector<Host>& hosts = placement_.asked.at(0).job.places.hosts;
  EXPECT_EQ(hosts.at(0).name, "of ");
  EXPECT_EQ(hosts.at(1).name, "+e");
}

TEST_F(PlacementTest, ARelativeHostThatDoesNotExistIsRefused) {
  hosts_ = {{"+n9", 0, false}};
  Ask();
  EXPECT_TRUE(placement_.asked.empty());
  EXPECT_EQ(End().text(), "no such node");
}

TEST_F(RequeueTest, AnUnknownJobOrALostLaunchersJobIsNotRequeued) {
  EXPECT_EQ(Requeue().code(), kErrNotFound);
  Run();
  manager_->OnGone(kLauncher);
  EXPECT_EQ(Requeue().code(), kErrUnreach) << "its launcher is gone";
}

TEST_F(RequeueTest, AJobWhoseLauncherCannotRequeueIsNotRequeued) {
  requeues_ = false;
  Run();
  EXPECT_EQ(Requeue().code(), kErrNotSupported);
}

TEST_F(RequeueTest, AJobThatHasReadInputIsNotRequeued) {
  Run();
  manager_->OnInputConsumed({"first", 1});
  EXPECT_EQ(Requeue().code(), kErrNotSupported);
}

TEST_F(RequeueTest, AJobThatIsBeingEndedIsNotRequeued) {
  Run();
  v1::RunRequest kill;
  kill.mutable_kill()->set_reason("the launcher got SIGINT");
  manager_->OnRequest(kLauncher, kill);
  EXPECT_EQ(Requeue().code(), kErrInvalidOperation);
}

TEST_F(RequeueTest, AJobLaunchedByTheHostIsNotRequeued) {
  HostLaunch launch;
  launch.id.request = "batch 1";
  launch.grant.host_job = "host job";
  launch.grant.nodes = {{"n0", 1}, {"n1", 1}};
  launch.job = TwoProcesses();
  ASSERT_TRUE(LaunchHostJob(launch).ok());
  EXPECT_EQ(Requeue().code(), kErrNotSupported);
}

TEST_F(RequeueTest, ASpawnedJobIsNotRequeued) {
  placement_.keeps = false;
  Launch();
  placement_.keeps = true;
  Spawn("first", 5);
  placement_.Grant();
  EXPECT_EQ(Requeue().code(), kErrNotSupported);
}

TEST_F(RequeueTest, ALaunchersKillCancelsTheRequeue) {
  Run();
  ASSERT_TRUE(Requeue().ok());
  v1::RunRequest kill;
  kill.mutable_kill()->set_reason("the launcher got SIGINT");
  manager_->OnRequest(kLauncher, kill);
  EndFirst();
  EXPECT_EQ(End().status(), kErrJobKilledByCmd);
  EXPECT_TRUE(stream_.Of(v1::RunEvent::kRequeued).empty());
}

TEST_F(RequeueTest, ASuccessorContinuesTheRequeue) {
  Run();
  ASSERT_TRUE(Requeue().ok());
  EXPECT_TRUE(records_.jobs.at("first").facts.requeued);
  for (const bool ended_before : {false, true}) {
    if (ended_before) {
      v1::JobEnd end;
      end.set_status(kErrJobKilledByCmd);
      records_.PersistEnd("first", end.SerializeAsString());
    }
    Start();
    manager_->Recover(records_.All());
    Stream stream;
    Reattach({}, &stream);
    if (!ended_before) EndFirst();
    EXPECT_TRUE(stream.Of(v1::RunEvent::kEnd).empty());
    const auto requeued = stream.Of(v1::RunEvent::kRequeued);
    ASSERT_EQ(requeued.size(), 1u) << ended_before;
    EXPECT_EQ(requeued[0].requeued().attempt(), 2u);
  }
}

HostLaunch OfTheHost() {
  HostLaunch launch;
  launch.id.request = "batch 1";
  launch.grant.host_job = "7";
  launch.grant.nodes = {{"n0", 1}, {"n1", 1}};
  launch.job = TwoProcesses();
  return launch;
}

TEST_F(PlacementTest, TheHostCanLaunchAJob) {
  const HostLaunch launch = OfTheHost();
  const Result<std::string> nspace = LaunchHostJob(launch);
  ASSERT_TRUE(nspace.ok()) << nspace.status().message();
  EXPECT_EQ(LaunchHostJob(launch).code(), kErrExists);
  const auto launched = sink_.Take<core::LaunchRequested>();
  ASSERT_EQ(launched.size(), 1u);
  EXPECT_TRUE(launched[0].acknowledges);
  EXPECT_EQ(manager_->num_bound(), 0u) << "a successor goes on with it";
  EXPECT_EQ(placement_.launched.at(0).id.request, "batch 1");
  Output(*nspace, 0, 5);
  WaitForConsumed(5);
  Change(*nspace, JobPhase::kRunning, 2);
  Change(*nspace, JobPhase::kEnded, 2);
  EXPECT_EQ(placement_.released.at(0).host_job, "7");
  EXPECT_TRUE(manager_->jobs().empty());
  loop_.RunOnce(0);
  EXPECT_TRUE(records_.jobs.empty());
}

TEST_F(PlacementTest, ASuccessorWritesTheOutputOfTheHostsJobs) {
  HostLaunch launch = OfTheHost();
  launch.output.output = testing::TempDir() + "/hosted.out";
  const Result<std::string> nspace = LaunchHostJob(launch);
  ASSERT_TRUE(nspace.ok());
  Output(*nspace, 1, 5);
  WaitForConsumed(5);
  const auto jobs = records_.All();
  ASSERT_EQ(jobs.size(), 1u);
  Start();
  manager_->Recover(jobs);
  loop_.RunOnce(0);
  const auto reattached = sink_.Take<core::LauncherReattached>();
  ASSERT_EQ(reattached.size(), 1u);
  EXPECT_EQ(reattached[0].received, (std::vector<uint64_t>{0, 5}));
  Output(*nspace, 0, 7);
  WaitForConsumed(7);
  EXPECT_EQ(std::filesystem::file_size(launch.output.output), 12u);
  Change(*nspace, JobPhase::kEnded, 2);
  loop_.RunOnce(0);
  EXPECT_TRUE(records_.jobs.empty());
}

TEST_F(PlacementTest, AHostsJobWithoutItsFilesIsNotLaunched) {
  HostLaunch launch = OfTheHost();
  launch.output.output = "/no/such/directory/out";
  EXPECT_EQ(LaunchHostJob(launch).code(), kErrJobSysOpFailed);
  EXPECT_TRUE(manager_->jobs().empty());
  EXPECT_TRUE(placement_.launched.empty());
}

TEST_F(PlacementTest, AHostsJobIsLaunchedWhenItsFilesAreOpen) {
  const HostLaunch launch = OfTheHost();
  std::vector<Result<std::string>> done;
  const auto note = [&](const Result<std::string>& nspace) {
    done.push_back(nspace);
  };
  manager_->commands().LaunchHostJob(launch, note);
  EXPECT_TRUE(done.empty());
  EXPECT_TRUE(manager_->jobs().empty());
  EXPECT_EQ(manager_->commands().HostLaunched(launch.id), "");
  manager_->commands().LaunchHostJob(launch, note);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].code(), kErrExists);
  for (int i = 0; i < 2000 && done.size() < 2; ++i) loop_.RunOnce(10);
  ASSERT_TRUE(done.at(1).ok());
  EXPECT_EQ(manager_->commands().HostLaunched(launch.id), *done[1]);
}

TEST_F(PlacementTest, AHostsJobIsNotLaunchedIfANodeIsLostMeanwhile) {
  std::optional<Result<std::string>> done;
  manager_->commands().LaunchHostJob(
      OfTheHost(),
      [&](const Result<std::string>& nspace) { done.emplace(nspace); });
  launch_refusal_ = Status(kErrJobAllocFailed, "a node was lost");
  for (int i = 0; i < 2000 && !done; ++i) loop_.RunOnce(10);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->code(), kErrJobAllocFailed);
  EXPECT_TRUE(manager_->jobs().empty());
  EXPECT_TRUE(placement_.launched.empty());
}

TEST_F(PlacementTest, AHostsJobThatCannotBeMappedIsNotLaunched) {
  launch_refusal_ = Status(kErrJobAllocFailed, "no such node");
  EXPECT_EQ(LaunchHostJob({}).code(), kErrJobAllocFailed);
  EXPECT_TRUE(placement_.launched.empty());
}

TEST_F(PlacementTest, ASuccessorReportsTheHostsJobs) {
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
