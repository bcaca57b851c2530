#include "server/control/jobs_elsewhere.h"

#include <gtest/gtest.h>

#include <memory>

namespace canopy::control {
namespace {

std::shared_ptr<const JobSpec> Named(const std::string& nspace) {
  auto job = std::make_shared<JobSpec>();
  job->nspace = nspace;
  return job;
}

TEST(JobsElsewhereTest, JobsOfOtherAgentsAreAddedUntilTheyAreOver) {
  JobsElsewhere elsewhere;
  JobRecords own;
  own["own"].job = Named("own");
  EXPECT_EQ(&elsewhere.With(own), &own);
  elsewhere.On({"other", Named("other"), 3});
  elsewhere.On({"other", Named("other"), 3});
  const JobRecords& all = elsewhere.With(own);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.at("other").controller, 3u);
  EXPECT_EQ(all.at("own").controller, kNoNode);
  elsewhere.On({"other", nullptr, kNoNode});
  EXPECT_EQ(&elsewhere.With(own), &own);
}

// A job that this agent controls after all is this agent's own.
TEST(JobsElsewhereTest, TheOwnRecordPrecedes) {
  JobsElsewhere elsewhere;
  JobRecords own;
  own["job"].job = Named("job");
  elsewhere.On({"job", Named("job"), 3});
  EXPECT_EQ(elsewhere.With(own).at("job").controller, kNoNode);
}

}  // namespace
}  // namespace canopy::control
