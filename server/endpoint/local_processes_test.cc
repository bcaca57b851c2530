#include "server/endpoint/local_processes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace canopy::endpoint {
namespace {

struct JobState {
  int mark = 0;
};
struct RankState {
  std::string token;
};
using Processes = LocalProcesses<JobState, RankState>;

core::RegisterJob TwoNodes() {
  auto job = std::make_shared<JobSpec>();
  job->nspace = "job";
  job->apps.resize(1);
  job->nodes = {{"a", {}, 0, 4}, {"b", {}, 1, 4}};
  job->procs = {{0, 0, ""}, {0, 0, ""}, {1, 0, ""}};
  return {job, std::make_shared<JobLayout>(*job)};
}

TEST(LocalProcesses, KnowsTheRanksOfThisNode) {
  Processes processes(0);
  Processes::Job& job = processes.Add(TwoNodes());
  job.mark = 7;
  EXPECT_EQ(job.ranks.size(), 2u);
  EXPECT_EQ(processes.Find("job")->mark, 7);
  EXPECT_EQ(processes.Find("other"), nullptr);
  EXPECT_NE(processes.FindRank({"job", 1}), nullptr);
  EXPECT_EQ(processes.FindRank({"job", 2}), nullptr);
  EXPECT_EQ(processes.FindRank({"other", 0}), nullptr);
}

TEST(LocalProcesses, HasJobOfFindsTheUserOfAJob) {
  Processes processes(0);
  EXPECT_FALSE(processes.HasJobOf(0));
  processes.Add(TwoNodes());
  EXPECT_TRUE(processes.HasJobOf(0));
  EXPECT_FALSE(processes.HasJobOf(1));
}

TEST(LocalProcesses, SetPidFailsForARankThatDoesNotRunHere) {
  Processes processes(1);
  processes.Add(TwoNodes());
  EXPECT_TRUE(processes.SetPid({"job", 2}, 4711));
  EXPECT_EQ(processes.FindRank({"job", 2})->pid, 4711);
  EXPECT_FALSE(processes.SetPid({"job", 0}, 4711));
}

TEST(LocalProcesses, AJobThatIsAddedAgainHasNewState) {
  Processes processes(0);
  processes.Add(TwoNodes()).mark = 7;
  processes.FindRank({"job", 0})->token = "t";
  processes.Add(TwoNodes());
  EXPECT_EQ(processes.Find("job")->mark, 0);
  EXPECT_EQ(processes.FindRank({"job", 0})->token, "");
  processes.Drop("job");
  EXPECT_EQ(processes.Find("job"), nullptr);
  EXPECT_TRUE(processes.jobs().empty());
}

}  // namespace
}  // namespace canopy::endpoint
