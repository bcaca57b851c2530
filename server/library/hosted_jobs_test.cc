#include "server/library/hosted_jobs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "server/library/library_testing.h"

namespace canopy::library {
namespace {

// By default, this node is the second one.
registration::Registration TwoNodes(uint32_t self = 1) {
  return JobOfTwoNodes("job", self);
}

TEST(HostedJobs, EachNodeBecomesAMemberOfTheOverlay) {
  HostedJobs jobs;
  ASSERT_TRUE(jobs.AddJob(TwoNodes()).ok());
  EXPECT_EQ(jobs.MemberOf({"job", 0}), kNoNode);  // not in the core yet
  ASSERT_TRUE(jobs.MakeSpec("job").ok());
  EXPECT_EQ(jobs.MemberOf({"job", 0}), kFirstOther);
  EXPECT_EQ(jobs.MemberOf({"job", 3}), kSelf);
  EXPECT_EQ(jobs.MemberOf({"job", 4}), kNoNode);
  EXPECT_EQ(jobs.MemberOf({"other", 0}), kNoNode);
}

TEST(HostedJobs, ANodeHasOneNumberInAllJobs) {
  HostedJobs jobs;
  registration::Registration other = TwoNodes();
  other.job.nspace = "other";
  std::swap(other.job.nodes[0], other.job.nodes[1]);
  other.self_node = 0;
  ASSERT_TRUE(jobs.AddJob(TwoNodes()).ok());
  ASSERT_TRUE(jobs.AddJob(std::move(other)).ok());
  ASSERT_TRUE(jobs.MakeSpec("job").ok());
  ASSERT_TRUE(jobs.MakeSpec("other").ok());
  EXPECT_EQ(jobs.MemberOf({"other", 0}), kSelf);
  EXPECT_EQ(jobs.MemberOf({"other", 3}), jobs.MemberOf({"job", 0}));
}

TEST(HostedJobs, TheNodeOfARegisteredClientIsThisNode) {
  HostedJobs jobs;
  ASSERT_TRUE(jobs.AddJob(TwoNodes(kNoNode)).ok());
  jobs.AddClient({"job", 1}, 7, 8, nullptr);
  ASSERT_TRUE(jobs.MakeSpec("job").ok());
  EXPECT_EQ(jobs.MemberOf({"job", 0}), kSelf);
  EXPECT_EQ(jobs.MemberOf({"job", 2}), kFirstOther);
}

TEST(HostedJobs, TheUserOfAJobIsThatOfItsClients) {
  HostedJobs jobs;
  jobs.AddClient({"job", 2}, 7, 8, &jobs);  // before its job, as orted does
  ASSERT_TRUE(jobs.AddJob(TwoNodes()).ok());
  ASSERT_TRUE(jobs.MakeSpec("job").ok());
  EXPECT_EQ(jobs.Find("job")->spec->uid, 7u);
  EXPECT_EQ(jobs.Find("job")->spec->gid, 8u);
  EXPECT_EQ(jobs.FindClient({"job", 2})->object, &jobs);
  EXPECT_EQ(jobs.FindClient({"job", 3}), nullptr);
}

TEST(HostedJobs, AJobIsRegisteredOnce) {
  HostedJobs jobs;
  ASSERT_TRUE(jobs.AddJob(TwoNodes()).ok());
  EXPECT_EQ(jobs.AddJob(TwoNodes()).code(), kErrExists);
  jobs.RemoveJob("job");
  EXPECT_TRUE(jobs.AddJob(TwoNodes()).ok());
}

TEST(HostedJobs, MakeSpecFailsForAJobWithoutData) {
  HostedJobs jobs;
  registration::Registration told;
  told.job.nspace = "daemons";
  told.no_data = true;
  ASSERT_TRUE(jobs.AddJob(std::move(told)).ok());
  EXPECT_EQ(jobs.MakeSpec("daemons").code(), kErrNotFound);
  EXPECT_EQ(jobs.MakeSpec("unknown").code(), kErrNotFound);
}

TEST(HostedJobs, AreHereReturnsFalseForProcessesOfOtherNodes) {
  HostedJobs jobs;
  ASSERT_TRUE(jobs.AddJob(TwoNodes()).ok());
  ASSERT_TRUE(jobs.MakeSpec("job").ok());
  const std::vector<ProcId> here = {{"job", 2}, {"job", 3}};
  const std::vector<ProcId> all = {{"job", kRankWildcard}};
  const std::vector<ProcId> unknown = {{"other", 0}};
  EXPECT_TRUE(jobs.AreHere(here));
  EXPECT_FALSE(jobs.AreHere(all));
  EXPECT_FALSE(jobs.AreHere(unknown));
}

TEST(HostedJobs, ClientsCanBeRemoved) {
  HostedJobs jobs;
  jobs.AddClient({"job", 0}, 7, 8, nullptr);
  jobs.RemoveClient({"job", 0});
  jobs.RemoveClient({"job", 0});
  EXPECT_TRUE(jobs.all().empty());
}

}  // namespace
}  // namespace canopy::library
