// Tests the limits for the jobs of one user.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "common/job_description.h"
#include "common/status.h"
#include "server/control/job_manager_testing.h"

namespace canopy::control {
namespace {

class UserLimitsOfJobsTest : public JobManagerTest {
 protected:
  static constexpr uint64_t kOther = kLauncher + 7;

  // Requests a job of this many processes with another launcher.
  void Request(uint32_t procs = 2) {
    new_name_ = "second";
    manager_->OnLauncher(kOther, &other_, OwnUser());
    JobRequest job;
    job.apps.push_back({"", {"program"}, {}, "", procs});
    v1::RunRequest request;
    request.mutable_launch()->set_allow_run_as_root(true);
    request.mutable_launch()->set_do_not_launch(only_mapped_);
    request.mutable_launch()->set_request(EncodeJobRequest(job));
    manager_->OnRequest(kOther, request);
  }
  v1::JobEnd End() { return other_.Of(v1::RunEvent::kEnd).at(0).end(); }
  bool HasEnded() const { return !other_.Of(v1::RunEvent::kEnd).empty(); }

  bool only_mapped_ = false;
  Stream other_;
};

TEST_F(UserLimitsOfJobsTest, ALaunchBeyondTheLimitIsRefused) {
  limits_.jobs = 1;
  Launch();
  sink_.inputs.clear();
  Request();
  EXPECT_EQ(End().status(), kErrOutOfResource);
  EXPECT_EQ(End().text(),
            "the limit of jobs for each user (max-jobs-per-user) is 1 on this "
            "overlay; user " +
                std::to_string(uid_) + " has 1, running or queued");
  EXPECT_TRUE(other_.finished);
  EXPECT_TRUE(sink_.Take<core::LaunchRequested>().empty());
  EXPECT_EQ(manager_->jobs().size(), 1u);
  EXPECT_EQ(manager_->queued().size(), 0u);
}

TEST_F(UserLimitsOfJobsTest, TheEndOfAJobMakesRoomForAnother) {
  limits_.jobs = 1;
  Launch();
  Change("first", core::JobPhase::kEnded, 2);
  Request();
  EXPECT_FALSE(HasEnded());
  EXPECT_TRUE(manager_->jobs().contains("second"));
}

TEST_F(UserLimitsOfJobsTest, JobsOfOtherUsersDoNotCount) {
  limits_.jobs = 1;
  uid_ += 1;
  Launch();
  uid_ -= 1;
  Request();
  EXPECT_FALSE(HasEnded());
  EXPECT_EQ(manager_->jobs().size(), 2u);
}

TEST_F(UserLimitsOfJobsTest, AQueuedJobCountsUntilItIsCancelled) {
  limits_.jobs = 1;
  placement_.keeps = true;
  manager_->OnLauncher(kLauncher, &stream_, OwnUser());
  v1::RunRequest request;
  request.mutable_launch()->set_allow_run_as_root(true);
  manager_->OnRequest(kLauncher, request);
  ASSERT_EQ(manager_->queued().size(), 1u);
  Request();
  EXPECT_EQ(End().status(), kErrOutOfResource);
  EXPECT_EQ(placement_.asked.size(), 1u) << "the host does not learn of it";
  EXPECT_TRUE(manager_->CancelQueued("first", "why"));
  other_ = Stream();
  Request();
  EXPECT_FALSE(HasEnded());
  EXPECT_EQ(manager_->queued().size(), 1u);
}

TEST_F(UserLimitsOfJobsTest, ARequestForTooManyProcessesIsNotQueued) {
  limits_.procs = 4;
  Launch();
  placement_.asked.clear();
  placement_.keeps = true;
  Request(3);
  EXPECT_EQ(End().status(), kErrOutOfResource);
  EXPECT_NE(End().text().find("(max-procs-per-user)"), std::string::npos);
  EXPECT_TRUE(placement_.asked.empty());
}

// The request asks for all slots, so the number of processes is known only when
// the job is mapped.
TEST_F(UserLimitsOfJobsTest, AMappedJobWithTooManyProcessesIsReleased) {
  limits_.procs = 1;
  placement_.keeps = true;
  Request(0);
  ASSERT_EQ(placement_.asked.size(), 1u);
  placement_.Grant();
  EXPECT_EQ(End().status(), kErrOutOfResource);
  EXPECT_EQ(placement_.released.size(), 1u);
  EXPECT_TRUE(manager_->jobs().empty());
}

TEST_F(UserLimitsOfJobsTest, AJobThatIsOnlyMappedIsNotRefused) {
  limits_.jobs = 1;
  Launch();
  only_mapped_ = true;
  Request();
  EXPECT_EQ(End().status(), kSuccess);
}

TEST_F(UserLimitsOfJobsTest, ASpawnBeyondTheLimitIsRefused) {
  limits_.jobs = 2;
  Launch();
  Spawn("first", 5);
  EXPECT_TRUE(manager_->jobs().contains("child1"));
  Spawn("child1", 6);
  const auto done = sink_.Take<core::SpawnDone>();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, kErrOutOfResource);
  EXPECT_EQ(manager_->jobs().size(), 2u);
  const std::string notice = stream_.Of(v1::RunEvent::kNotice).at(0).notice();
  EXPECT_NE(notice.find("cannot spawn: the limit of jobs"), std::string::npos)
      << notice;
}

TEST_F(UserLimitsOfJobsTest, BothJobsOfASpawnCount) {
  limits_.jobs = 2;
  Launch();
  SpawnTwo();
  EXPECT_EQ(sink_.Take<core::SpawnDone>().at(0).status, kErrOutOfResource);
  EXPECT_EQ(manager_->jobs().size(), 1u);
}

TEST_F(UserLimitsOfJobsTest, AJobOfTheSchedulerBeyondTheLimitIsRefused) {
  limits_.jobs = 1;
  Launch();
  HostLaunch launch;
  launch.id.request = "request";
  std::optional<int> status;
  manager_->commands().LaunchHostJob(
      launch,
      [&](const Result<std::string>& nspace) { status = nspace.code(); });
  EXPECT_EQ(status, kErrOutOfResource);
  EXPECT_EQ(manager_->jobs().size(), 1u);
}

TEST_F(UserLimitsOfJobsTest, OwnersOfOneNumberDoNotHaveJobsAtOnce) {
  const auto launch_for = [this](const std::string& request,
                                 const HostOwner& owner) {
    HostLaunch launch;
    launch.id.request = request;
    launch.owner = owner;
    std::optional<int> status;
    manager_->commands().LaunchHostJob(
        launch,
        [&](const Result<std::string>& nspace) { status = nspace.code(); });
    for (int i = 0; i < 2000 && !status; ++i) loop_.RunOnce(10);
    return status.value_or(kError);
  };
  EXPECT_EQ(launch_for("a", {7, "kubernetes/a"}), kSuccess);
  EXPECT_EQ(manager_->jobs().begin()->second.job->uid, 7u);
  EXPECT_EQ(launch_for("b", {7, "kubernetes/b"}), kErrExists);
  EXPECT_EQ(launch_for("c", {8, "kubernetes/b"}), kSuccess);
}

}  // namespace
}  // namespace canopy::control
