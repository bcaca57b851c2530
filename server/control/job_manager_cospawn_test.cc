// Tests the two jobs of one spawn request.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "common/status.h"
#include "server/control/job_manager_testing.h"

namespace canopy::control {
namespace {

using core::JobPhase;

TEST_F(JobManagerTest, ACospawnedJobStartsWithTheMainJob) {
  Launch();
  sink_.inputs.clear();
  SpawnTwo(60);
  EXPECT_TRUE(separate_);
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().size(), 2u);
  EXPECT_EQ(stream_.Of(v1::RunEvent::kMapped).size(), 3u);
  const LaunchFacts& main = records_.jobs.at("child1").facts;
  const LaunchFacts& beside = records_.jobs.at("child2").facts;
  EXPECT_EQ(main.partner, "child2");
  EXPECT_EQ(beside.partner, "child1");
  EXPECT_TRUE(beside.cospawned && beside.separate);
  EXPECT_FALSE(main.cospawned || main.separate);
  EXPECT_EQ(main.start_deadline, beside.start_deadline);
  Change("child1", JobPhase::kRunning, 2);
  EXPECT_TRUE(sink_.Take<core::SpawnDone>().empty());
  Change("child2", JobPhase::kRunning, 2);
  const auto done = sink_.Take<core::SpawnDone>();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].nspace, "child1");
  EXPECT_EQ(main.partner + beside.partner, "");
  EXPECT_EQ(beside.start_deadline, 0);
}

TEST_F(JobManagerTest, ACospawnedJobNeitherEndsOthersNorEndsWithThem) {
  Launch();
  SpawnTwo();
  Change("child1", JobPhase::kRunning, 2);
  Change("child2", JobPhase::kRunning, 2);
  Change("child2", JobPhase::kEnded, 2, kErrJobNonZeroTerm, 3);
  EXPECT_TRUE(Killed().empty());
  manager_->OnGone(kLauncher);
  EXPECT_EQ(Killed(), (std::set<std::string>{"first", "child1"}));
}

TEST_F(JobManagerTest, TheFailureOfACospawnedJobIsNotTheFamilysFailure) {
  Launch();
  SpawnTwo();
  Change("child1", JobPhase::kRunning, 2);
  Change("child2", JobPhase::kRunning, 2);
  SpawnRunning("child2", 6, "child3");
  EXPECT_TRUE(records_.jobs.at("child3").facts.apart);
  EXPECT_FALSE(records_.jobs.at("child3").facts.separate);
  Change("child3", JobPhase::kEnding, 2, kErrJobNonZeroTerm, 4);
  EXPECT_EQ(Killed(), std::set<std::string>{"child2"});
  Change("child3", JobPhase::kEnded, 2, kErrJobNonZeroTerm, 4);
  Change("child2", JobPhase::kEnded, 2, kErrJobNonZeroTerm, 3);
  EXPECT_FALSE(Killed().contains("first"));

  Start();
  manager_->Recover(records_.All());
  Stream stream;
  Reattach({}, &stream);
  Change("child1", JobPhase::kEnded, 2);
  Change("first", JobPhase::kEnded, 2);
  const auto ends = stream.Of(v1::RunEvent::kEnd);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].end().exit_code(), 0);
}

TEST_F(JobManagerTest, AFailureDoesNotEndACospawnedJob) {
  Launch();
  SpawnTwo();
  Change("child1", JobPhase::kRunning, 2);
  Change("child2", JobPhase::kRunning, 2);
  Change("child1", JobPhase::kEnding, 2, kErrJobNonZeroTerm, 3);
  EXPECT_EQ(Killed(), std::set<std::string>{"first"});
  Change("first", JobPhase::kEnding, 2, kErrJobTermWoSync, 143);
  EXPECT_EQ(Killed(), std::set<std::string>());
}

TEST_F(JobManagerTest, EitherBothJobsOrNoneAreRecorded) {
  Launch();
  sink_.inputs.clear();
  num_accepted_ = 1;
  refusal_ = Status(kErrJobInsufficientResources, "no slots");
  SpawnTwo();
  EXPECT_TRUE(sink_.Take<core::LaunchRequested>().empty());
  EXPECT_EQ(sink_.Take<core::SpawnDone>()[0].status,
            kErrJobInsufficientResources);
  EXPECT_EQ(manager_->jobs().size(), 1u);
  EXPECT_EQ(records_.jobs.size(), 1u);
  Change("first", JobPhase::kEnded, 2);
  EXPECT_EQ(stream_.Of(v1::RunEvent::kEnd).size(), 1u);
}

TEST_F(JobManagerTest, AStartedJobEndsIfItsPartnerDoesNotStart) {
  Launch();
  SpawnTwo();
  Change("child2", JobPhase::kRunning, 2);
  Change("child1", JobPhase::kEnded, 0, kErrJobExeNotFound, 1);
  EXPECT_EQ(Killed(), std::set<std::string>{"child2"});
  Change("child2", JobPhase::kEnded, 2, kErrJobCanceled, 143);
  EXPECT_EQ(sink_.Take<core::SpawnDone>()[0].status, kErrJobExeNotFound);
  EXPECT_EQ(records_.jobs.size(), 1u);
  Change("first", JobPhase::kEnded, 2);
  EXPECT_EQ(stream_.Of(v1::RunEvent::kEnd)[0].end().exit_code(), 0);
}

TEST_F(JobManagerTest, ASuccessorStartsEitherBothJobsOrNone) {
  Launch();
  SpawnTwo();
  // The first job succeeds before the other has started.
  Change("child1", JobPhase::kEnded, 2);
  Start();
  sink_.inputs.clear();
  manager_->Recover(records_.All());
  EXPECT_EQ(sink_.Take<core::SpawnRecovered>().size(), 1u);
  Change("child2", JobPhase::kRunning, 2);
  EXPECT_EQ(sink_.Take<core::SpawnDone>()[0].nspace, "child1");

  records_.DropControl("child1");
  records_.jobs.at("child2").facts.partner = "child1";
  Start();
  sink_.inputs.clear();
  manager_->Recover(records_.All());
  loop_.RunOnce(1000);
  EXPECT_EQ(Killed(), std::set<std::string>{"child2"});
}

TEST_F(JobManagerTest, ASuccessorRepeatsTheAnswerToASpawnOfTwoStartedJobs) {
  Launch();
  SpawnTwo();
  Change("child1", JobPhase::kRunning, 2);
  Change("child2", JobPhase::kRunning, 2);
  Start();
  sink_.inputs.clear();
  manager_->Recover(records_.All());
  EXPECT_EQ(sink_.Take<core::SpawnRecovered>().size(), 1u);
  EXPECT_TRUE(manager_->jobs().at("child2").connected);
  Change("child1", JobPhase::kRunning, 2);
  EXPECT_EQ(sink_.Take<core::SpawnDone>()[0].nspace, "child1");
}

}  // namespace
}  // namespace canopy::control
