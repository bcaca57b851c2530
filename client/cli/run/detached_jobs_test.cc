#include "client/cli/run/detached_jobs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "client/cli/base/file_util.h"

namespace canopy::cli {
namespace {

class DetachedJobsTest : public testing::Test {
 protected:
  DetachedJobsTest() : jobs_(Base() + "/detached") {
    EXPECT_TRUE(jobs_.Prepare().ok());
  }
  static std::string Base() {
    std::string base = testing::TempDir() + "/detached-XXXXXX";
    EXPECT_NE(mkdtemp(base.data()), nullptr);
    return base;
  }

  DetachedJobs jobs_;
};

TEST_F(DetachedJobsTest, WhatIsKnownOfAJob) {
  EXPECT_EQ(jobs_.Find("job-1").code(), kErrNotFound);
  ASSERT_TRUE(MakeFile(jobs_.OutputPath("17"), "said").ok());
  ASSERT_TRUE(jobs_.NoteJob("job-1", 17).ok());
  Result<std::string> output = ReadFile(jobs_.OutputPath("job-1"), 100);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(*output, "said");
  Result<DetachedJobs::Job> job = jobs_.Find("job-1");
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->launcher, 17);
  EXPECT_FALSE(job->exit_code);
  ASSERT_TRUE(jobs_.NoteEnd("job-1", 3).ok());
  EXPECT_EQ(jobs_.Find("job-1")->exit_code, 3);
  jobs_.Forget("job-1");
  EXPECT_EQ(jobs_.Find("job-1").code(), kErrNotFound);
}

TEST_F(DetachedJobsTest, NamesStayInTheDirectory) {
  EXPECT_EQ(jobs_.OutputPath("../x").find("/../"), std::string::npos);
}

// The launcher of the test reports a name, or none.
int LaunchAndAwait(const DetachedJobs& jobs, const std::string& name,
                   int code) {
  Result<Detachment> both = Detach(jobs);
  if (!both.ok()) return -1;
  if (both->is_launcher) {
    (void)WriteAll(STDERR_FILENO, "it said so\n");
    (void)WriteAll(both->name.get(), name);
    _exit(code);
  }
  return AwaitName(jobs, *both);
}

TEST_F(DetachedJobsTest, PrintsTheNameOrWhatWasSaid) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(LaunchAndAwait(jobs_, "job-1\n", 0), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "job-1\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(LaunchAndAwait(jobs_, "", 7), 7);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "it said so\n");
}

}  // namespace
}  // namespace canopy::cli
