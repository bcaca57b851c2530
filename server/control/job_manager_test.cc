#include "server/control/job_manager.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/control/job_manager_testing.h"

namespace canopy::control {
namespace {

using core::JobPhase;

TEST_F(JobManagerTest, AJobIsLaunchedAfterItsFilesAreCopied) {
  LaunchWithFiles();
  const auto copying = sink_.Take<core::LaunchRequested>();
  ASSERT_EQ(copying.size(), 1u);
  EXPECT_EQ(copying[0].job->nspace, "first-preload");
  EXPECT_TRUE(records_.jobs.empty()) << "no successor could go on with it";
  EXPECT_TRUE(stream_.Of(v1::RunEvent::kMapped).at(0).mapped().preloads());

  v1::RunRequest files;
  files.set_preload("abc");
  manager_->OnRequest(kLauncher, files);
  EXPECT_EQ(sink_.Take<core::InputOffered>().at(0).nspace, "first-preload");
  manager_->OnInputConsumed({"first-preload", 3});
  const auto taken = stream_.Of(v1::RunEvent::kPreloadTaken);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].preload_taken(), 3u);

  Output("first-preload", 0, 1);
  EXPECT_TRUE(sink_.Take<core::LaunchRequested>().empty());
  Output("first-preload", 1, 1);
  const auto launched = sink_.Take<core::LaunchRequested>();
  ASSERT_EQ(launched.size(), 1u);
  EXPECT_EQ(launched[0].job->nspace, "first");
  EXPECT_TRUE(launched[0].acknowledges);
  EXPECT_EQ(records_.jobs.count("first"), 1u);
  EXPECT_TRUE(stream_.Of(v1::RunEvent::kOutput).empty());
}

TEST_F(JobManagerTest, AJobWithoutItsFilesIsNotLaunched) {
  LaunchWithFiles();
  Change("first-preload", JobPhase::kEnded, 0, kErrNodeDown, 1);
  const auto end = stream_.Of(v1::RunEvent::kEnd);
  ASSERT_EQ(end.size(), 1u);
  EXPECT_EQ(end[0].end().status(), kErrNodeDown);
  EXPECT_EQ(end[0].end().exit_code(), 1);
  EXPECT_TRUE(manager_->jobs().empty());
}

TEST_F(JobManagerTest, AStagingJobEndsWithTheLauncher) {
  LaunchWithFiles();
  manager_->OnGone(kLauncher);
  EXPECT_EQ(Killed(), std::set<std::string>{"first-preload"});
  Change("first-preload", JobPhase::kEnded, 0, kErrJobKilledByCmd, 143);
  EXPECT_TRUE(manager_->jobs().empty());
}

TEST_F(JobManagerTest, ASpawnedJobIsLaunchedForTheSameLauncher) {
  Launch();
  sink_.inputs.clear();
  Spawn("first", 5);
  const auto launches = sink_.Take<core::LaunchRequested>();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].job->parent, (ProcId{"first", 1}));
  EXPECT_TRUE(launches[0].acknowledges);
  const auto mapped = stream_.Of(v1::RunEvent::kMapped);
  ASSERT_EQ(mapped.size(), 2u);
  EXPECT_EQ(mapped[0].mapped().command(), "");
  EXPECT_EQ(mapped[1].mapped().parent(), "first");
  EXPECT_EQ(mapped[1].mapped().command(), "./child 'a b'");
  EXPECT_EQ(records_.jobs.at("child1").facts.spawn_request, 5u);
  EXPECT_TRUE(sink_.Take<core::SpawnDone>().empty());

  Change("child1", JobPhase::kRunning, 2);
  const auto done = sink_.Take<core::SpawnDone>();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, kSuccess);
  EXPECT_EQ(done[0].nspace, "child1");
}

TEST_F(JobManagerTest, TheLauncherReceivesTheEndWhenTheFamilyIsOver) {
  Launch();
  SpawnRunning("first", 5, "child1");
  Change("first", JobPhase::kEnded, 2);
  EXPECT_TRUE(stream_.Of(v1::RunEvent::kEnd).empty());
  EXPECT_EQ(Killed().size(), 0u) << "a job outlives a parent that ended well";
  Change("child1", JobPhase::kEnded, 2);
  EXPECT_EQ(stream_.Of(v1::RunEvent::kSpawnedEnd).size(), 1u);
  const auto ends = stream_.Of(v1::RunEvent::kEnd);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].end().exit_code(), 0);
  EXPECT_TRUE(stream_.finished);
  EXPECT_EQ(records_.jobs.size(), 2u);
  manager_->OnGone(kLauncher);
  EXPECT_TRUE(records_.jobs.empty());
}

TEST_F(JobManagerTest, AFailureEndsTheFamilyAndGivesItsExitCode) {
  Launch();
  SpawnRunning("first", 5, "child1");
  SpawnRunning("child1", 6, "child2");
  Change("child1", JobPhase::kEnding, 2, kErrJobNonZeroTerm, 3);
  EXPECT_EQ(Killed(), (std::set<std::string>{"first", "child2"}));
  Change("first", JobPhase::kEnded, 2, kErrJobTermWoSync, 143);
  Change("child2", JobPhase::kEnded, 2, kErrJobTermWoSync, 143);
  Change("child1", JobPhase::kEnded, 2, kErrJobNonZeroTerm, 3);
  const auto ends = stream_.Of(v1::RunEvent::kEnd);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].end().exit_code(), 3);
}

TEST_F(JobManagerTest, AFailedSpawnEndsNoOtherJob) {
  Launch();
  Spawn("first", 5);
  Change("child1", JobPhase::kEnded, 0, kErrJobExeNotFound, 1);
  const auto done = sink_.Take<core::SpawnDone>();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, kErrJobExeNotFound);
  EXPECT_TRUE(Killed().empty());
  EXPECT_FALSE(records_.jobs.contains("child1"));
  Change("first", JobPhase::kEnded, 2);
  EXPECT_EQ(stream_.Of(v1::RunEvent::kEnd)[0].end().exit_code(), 0);
}

TEST_F(JobManagerTest, ASpawnThatCannotBeMappedFailsAndNotifiesTheLauncher) {
  Launch();
  refusal_ = Status(kErrJobInsufficientResources, "no slots");
  Spawn("first", 5);
  const auto done = sink_.Take<core::SpawnDone>();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, kErrJobInsufficientResources);
  const auto notices = stream_.Of(v1::RunEvent::kNotice);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].notice().find("no slots"), std::string::npos);
}

TEST_F(JobManagerTest, OutputNamesItsJobAndCreditIsPassedToThatJob) {
  Launch();
  SpawnRunning("first", 5, "child1");
  Output("first", 0, 10);
  Output("child1", 1, 20);
  const auto outputs = stream_.Of(v1::RunEvent::kOutput);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].output().nspace(), "");
  EXPECT_EQ(outputs[1].output().nspace(), "child1");
  v1::RunRequest request;
  request.set_consumed(25);
  manager_->OnRequest(kLauncher, request);
  const auto consumed = sink_.Take<core::OutputConsumed>();
  ASSERT_EQ(consumed.size(), 2u);
  EXPECT_EQ(consumed[0].nspace, "first");
  EXPECT_EQ(consumed[1].nspace, "child1");
  EXPECT_EQ(consumed[1].bytes, 15u);
}

TEST_F(JobManagerTest, SuccessiveOutputOfARankIsCreditedTogether) {
  Launch();
  for (int i = 0; i < 100; ++i) Output("first", 0, 1);
  Output("first", 1, 1);
  v1::RunRequest request;
  request.set_consumed(60);
  manager_->OnRequest(kLauncher, request);
  request.set_consumed(41);
  manager_->OnRequest(kLauncher, request);
  const auto consumed = sink_.Take<core::OutputConsumed>();
  ASSERT_EQ(consumed.size(), 3u);
  EXPECT_EQ(consumed[0].bytes, 60u);
  EXPECT_EQ(consumed[1].bytes, 40u);
  EXPECT_EQ(consumed[2].rank, 1u);
}

TEST_F(JobManagerTest, SignalsAndKillsApplyToTheFamily) {
  Launch();
  SpawnRunning("first", 5, "child1");
  v1::RunRequest signal;
  signal.set_signal(10);
  manager_->OnRequest(kLauncher, signal);
  EXPECT_EQ(sink_.Take<core::SignalRequested>().size(), 2u);
  v1::RunRequest kill;
  kill.mutable_kill()->set_reason("enough");
  manager_->OnRequest(kLauncher, kill);
  EXPECT_EQ(Killed(), (std::set<std::string>{"first", "child1"}));
}

TEST_F(JobManagerTest, TheFamilyEndsWithItsLauncher) {
  Launch();
  SpawnRunning("first", 5, "child1");
  manager_->OnGone(kLauncher);
  EXPECT_EQ(Killed(), (std::set<std::string>{"first", "child1"}));
  EXPECT_TRUE(records_.jobs.empty());
}

TEST_F(JobManagerTest, JobsWithNohupContinueWithoutTheLauncher) {
  LaunchWithOneToGoOn();
  manager_->OnGone(kLauncher);
  EXPECT_EQ(Killed(), (std::set<std::string>{"first", "child2"}));
  EXPECT_TRUE(records_.jobs.at("child1").facts.unattended);
  EXPECT_FALSE(records_.jobs.at("child2").facts.unattended);
  Change("first", JobPhase::kEnded, 2, kErrJobKilledByCmd);
  EXPECT_EQ(Killed(), (std::set<std::string>{"child2"})) << "and not child1";
  Output("child1", 1, 10);
  EXPECT_EQ(sink_.Take<core::OutputConsumed>().at(0).bytes, 10u);
  Spawn("child2", 7);
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrJobCanceled);
  Spawn("child1", 8);
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().back().job->nspace, "child3");
  EXPECT_TRUE(records_.jobs.at("child3").facts.unattended) << "as its spawner";
  Stream late;
  Reattach({}, &late);
  EXPECT_FALSE(late.Of(v1::RunEvent::kReattached).at(0).reattached().known());
}

TEST_F(JobManagerTest, ASuccessorExpectsNoLauncherThatWasAlreadyLost) {
  LaunchWithOneToGoOn();
  manager_->OnGone(kLauncher);
  Change("first", JobPhase::kEnded, 2, kErrJobKilledByCmd);
  Start();
  sink_.inputs.clear();
  manager_->Recover(records_.All());
  loop_.RunOnce(0);
  EXPECT_EQ(Killed(), (std::set<std::string>{"child2"}));
  const auto reattached = sink_.Take<core::LauncherReattached>();
  ASSERT_EQ(reattached.size(), 2u);
  EXPECT_FALSE(reattached[0].received.has_value()) << "it is discarded";
  Spawn("child1", 8);
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().size(), 1u) << "at once";
}

TEST_F(JobManagerTest, AJobThatIsBeingEndedCannotSpawn) {
  Launch();
  Change("first", JobPhase::kEnding, 2, kErrJobNonZeroTerm, 1);
  Spawn("first", 5);
  const auto done = sink_.Take<core::SpawnDone>();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, kErrJobCanceled);
}

TEST_F(JobManagerTest, ASuccessorRecoversTheFamily) {
  Launch();
  SpawnRunning("first", 5, "child1");
  Spawn("first", 6);
  SpawnRunning("first", 7, "child3");
  Change("child3", JobPhase::kEnded, 2);
  Start();
  sink_.inputs.clear();
  manager_->Recover(records_.All());
  const auto done = sink_.Take<core::SpawnDone>();
  ASSERT_EQ(done.size(), 1u) << "the answer of what is over is known";
  EXPECT_EQ(done[0].request, 7u);
  EXPECT_EQ(sink_.Take<core::SpawnRecovered>().size(), 3u)
      << "each before its answer";
  EXPECT_EQ(manager_->jobs().size(), 3u);

  Stream stream;
  v1::RunRequest request;
  request.mutable_reattach()->add_received(1);
  request.mutable_reattach()->add_received(2);
  auto* const known = request.mutable_reattach()->add_spawned();
  known->set_nspace("child1");
  known->add_received(3);
  known->add_received(4);
  Reattach(request, &stream);
  const auto mapped = stream.Of(v1::RunEvent::kMapped);
  ASSERT_EQ(mapped.size(), 1u) << "of the one that it has not heard of";
  EXPECT_EQ(mapped[0].mapped().nspace(), "child2");
  std::map<std::string, std::vector<uint64_t>> received;
  for (const auto& reattached : sink_.Take<core::LauncherReattached>()) {
    received[reattached.nspace] = *reattached.received;
  }
  EXPECT_EQ(received["first"], (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(received["child1"], (std::vector<uint64_t>{3, 4}));
  EXPECT_TRUE(received.contains("child2"));

  Change("child1", JobPhase::kRunning, 2);
  Change("first", JobPhase::kEnding, 2, kErrJobNonZeroTerm, 4);
  EXPECT_EQ(Killed(), (std::set<std::string>{"child1", "child2"}));
}

// No launcher is connected yet that could receive the output of the new job.
TEST_F(JobManagerTest, ASpawnWaitsForTheLauncherToReattach) {
  Launch();
  Start();
  manager_->Recover(records_.All());
  sink_.inputs.clear();
  Spawn("first", 5);
  EXPECT_TRUE(sink_.Take<core::LaunchRequested>().empty());
  Stream stream;
  Reattach({}, &stream);
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().size(), 1u);
  EXPECT_TRUE(sink_.Take<core::SpawnDone>().empty());
}

TEST_F(JobManagerTest, TheRecordOfAStartedJobHasNoStartTimeout) {
  Launch();
  manager_->OnSpawn({{"first", 1}, 5, Bytes(CallBytes(60))});
  const PersistedJob& child = records_.jobs.at("child1");
  EXPECT_GT(child.facts.start_deadline, EventLoop::Now());
  Change("child1", JobPhase::kRunning, 2);
  EXPECT_EQ(child.facts.start_deadline, 0);
  EXPECT_EQ(child.facts.spawn_request, 5u);
}

TEST_F(JobManagerTest, ASuccessorEndsTheConsequencesOfAFailure) {
  Launch();
  SpawnRunning("first", 5, "child1");
  Change("first", JobPhase::kEnded, 2, kErrJobNonZeroTerm, 4);
  Start();
  sink_.inputs.clear();
  manager_->Recover(records_.All());
  loop_.RunOnce(1000);
  EXPECT_EQ(Killed(), (std::set<std::string>{"child1"}));
  Change("child1", JobPhase::kEnded, 2, kErrJobTermWoSync, 143);
  Stream stream;
  Reattach({}, &stream);
  const auto ends = stream.Of(v1::RunEvent::kEnd);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].end().exit_code(), 4);
}

}  // namespace
}  // namespace canopy::control
