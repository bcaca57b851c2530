#include "server/control/user_limits.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "server/control/control_testing.h"

namespace canopy::control {
namespace {

constexpr uint32_t kUser = 1000;

JobRecord RecordOf(uint32_t uid, size_t procs) {
  auto job = std::make_shared<JobSpec>();
  job->uid = uid;
  job->procs.resize(procs);
  JobRecord record;
  record.job = std::move(job);
  return record;
}

QueuedJob QueuedOf(const std::string& name, uint32_t uid, uint32_t procs) {
  QueuedJob queued;
  queued.request.id.request = name;
  queued.request.caller.uid = uid;
  queued.request.job.apps.push_back({"", {"program"}, {}, "", procs});
  return queued;
}

TEST(UserLimitsTest, RecordedAndQueuedJobsOfTheUserCount) {
  EventLoop loop;
  FakePlacement placement;
  placement.keeps = true;
  Placements placements(&loop, [](QueuedJob*) {});
  placements.set_port(&placement);
  const JobRecords jobs = {{"a", RecordOf(kUser, 3)},
                           {"b", RecordOf(kUser + 1, 50)}};
  placements.Ask(QueuedOf("c", kUser, 4), [](const Result<Placed>&) {});
  placements.Ask(QueuedOf("d", kUser + 1, 60), [](const Result<Placed>&) {});
  const UserLoad load = LoadOf(kUser, jobs, placements);
  EXPECT_EQ(load.jobs, 2u);
  EXPECT_EQ(load.procs, 7u);
}

TEST(UserLimitsTest, ARefusalHasTheLimitItsSettingAndTheLoad) {
  const UserLimits limits{3, 10};
  EXPECT_TRUE(CheckUserLimits(kUser, {2, 6}, {1, 4}, limits).ok());
  const Status jobs = CheckUserLimits(kUser, {3, 6}, {1, 4}, limits);
  EXPECT_EQ(jobs.code(), kErrOutOfResource);
  EXPECT_EQ(jobs.message(),
            "the limit of jobs for each user (max-jobs-per-user) is 3 on this "
            "overlay; user 1000 has 3, running or queued");
  const Status procs = CheckUserLimits(kUser, {2, 6}, {1, 5}, limits);
  EXPECT_EQ(procs.code(), kErrOutOfResource);
  EXPECT_EQ(procs.message(),
            "the limit of processes for each user (max-procs-per-user) is 10 "
            "on this overlay; user 1000 has 6, running or queued, and this job "
            "would add 5");
}

}  // namespace
}  // namespace canopy::control
