#include "server/core/job_table.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// Ranks 0 and 2 on agent 5, rank 1 on agent 6.
std::shared_ptr<const JobSpec> SmallJob(const std::string& nspace) {
  auto job = std::make_shared<JobSpec>();
  job->nspace = nspace;
  job->apps.resize(1);
  job->nodes = {{"a", {}, 5, 2}, {"b", {}, 6, 2}};
  job->procs = {{0, 0, ""}, {1, 0, ""}, {0, 0, ""}};
  return job;
}

TEST(JobTable, KnowsTheLocalRanks) {
  CoreEvents events;
  JobTable table(5, &events);
  const Job* job = table.Add(SmallJob("j"));
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(table.Find("j"), job);
  EXPECT_EQ(table.Find("k"), nullptr);
  EXPECT_TRUE(job->is_local(0));
  EXPECT_FALSE(job->is_local(1));
  EXPECT_FALSE(job->is_local(3));
  EXPECT_EQ(job->agent_of(1), 6u);
  ASSERT_EQ(job->local_ranks().size(), 2u);
  EXPECT_EQ(job->local_ranks()[1], 2u);
  const auto added = TakeAll<AddedJob>(&events);
  ASSERT_EQ(added.size(), 1u);
  EXPECT_EQ(added[0].nspace, "j");
  EXPECT_TRUE(events.empty());
}

TEST(JobTable, AJobWithoutLocalRanksHasNoClients) {
  JobTable table(7);
  const Job* job = table.Add(SmallJob("j"));
  EXPECT_TRUE(job->local_ranks().empty());
  EXPECT_FALSE(job->is_local(0));
  EXPECT_FALSE(table.Connect(1, {"j", 0}));
}

TEST(JobTable, RefusesASecondJobOfTheSameName) {
  JobTable table(5);
  ASSERT_NE(table.Add(SmallJob("j")), nullptr);
  EXPECT_EQ(table.Add(SmallJob("j")), nullptr);
}

TEST(JobTable, ConnectAndFinalizeSetTheStateOfTheRank) {
  JobTable table(5);
  const Job* job = table.Add(SmallJob("j"));
  EXPECT_FALSE(table.Connect(1, {"j", 1}));
  EXPECT_FALSE(table.ConnectTool(1, {"j", 0}, {}));
  EXPECT_FALSE(table.Connect(1, {"x", 0}));
  ASSERT_TRUE(table.Connect(1, {"j", 0}));
  EXPECT_FALSE(table.Connect(1, {"j", 2}));
  EXPECT_EQ(*table.ProcOf(1), (ProcId{"j", 0}));
  EXPECT_TRUE(job->ranks[0].called_init);
  table.Finalize(1);
  EXPECT_TRUE(job->ranks[0].finalized);
  table.Disconnect(1);
  EXPECT_EQ(table.ProcOf(1), nullptr);
  EXPECT_FALSE(job->ranks[0].lost);
  ASSERT_TRUE(table.Connect(2, {"j", 0}));
  EXPECT_FALSE(job->ranks[0].finalized);
}

TEST(JobTable, LossOfTheLastConnectionMarksTheRankAsLost) {
  CoreEvents events;
  JobTable table(5, &events);
  const Job* job = table.Add(SmallJob("j"));
  events = {};
  ASSERT_TRUE(table.Connect(1, {"j", 2}));
  ASSERT_TRUE(table.Connect(2, {"j", 2}));
  EXPECT_EQ(table.ClientsOf({"j", 2}), (std::vector<ClientId>{1, 2}));
  table.Disconnect(1);
  EXPECT_TRUE(events.empty());
  table.Disconnect(2);
  EXPECT_TRUE(job->ranks[2].lost);
  const auto gone = TakeAll<GoneRanks>(&events);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].nspace, "j");
  EXPECT_EQ(gone[0].ranks, std::vector<Rank>{2});
  EXPECT_TRUE(table.ClientsOf({"j", 2}).empty());
}

TEST(JobTable, AnEndIsRecordedOnce) {
  CoreEvents events;
  JobTable table(5, &events);
  const Job* job = table.Add(SmallJob("j"));
  events = {};
  table.MarkEnded("j", 1);
  table.MarkEnded("j", 1);
  table.MarkEnded("j", 9);
  table.MarkEnded("k", 0);
  EXPECT_TRUE(job->ranks[1].ended);
  EXPECT_EQ(job->num_gone, 1u);
  const auto gone = TakeAll<GoneRanks>(&events);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].nspace, "j");
  EXPECT_EQ(gone[0].ranks, std::vector<Rank>{1});
}

TEST(JobTable, RanksOfAJobThatEndTogetherShareAnEvent) {
  CoreEvents events;
  JobTable table(5, &events);
  table.Add(SmallJob("j"));
  table.Add(SmallJob("k"));
  events = {};
  table.MarkEnded("j", 1);
  table.MarkEnded("j", 0);
  table.MarkEnded("k", 2);
  table.MarkEnded("j", 2);
  const auto gone = TakeAll<GoneRanks>(&events);
  ASSERT_EQ(gone.size(), 3u);
  EXPECT_EQ(gone[0].ranks, (std::vector<Rank>{1, 0}));
  EXPECT_EQ(gone[1].nspace, "k");
  EXPECT_EQ(gone[2].ranks, std::vector<Rank>{2}) << "the order is kept";
}

TEST(JobTable, RemoveErasesTheJobsClients) {
  CoreEvents events;
  JobTable table(5, &events);
  table.Add(SmallJob("j"));
  table.Add(SmallJob("k"));
  ASSERT_TRUE(table.Connect(1, {"j", 0}));
  ASSERT_TRUE(table.Connect(2, {"k", 0}));
  table.AddReader("j", 9);
  Actions actions;
  table.Register("j", &actions);
  table.Register("j", &actions);
  EXPECT_EQ(actions.size(), 1u);
  table.Remove("j");
  table.Remove("unknown");
  EXPECT_TRUE(table.WasRemoved("j"));
  EXPECT_FALSE(table.WasRemoved("k"));
  EXPECT_FALSE(table.WasRemoved("unknown"));
  EXPECT_EQ(table.ProcOf(1), nullptr);
  EXPECT_EQ(table.Clients(), std::vector<ClientId>{2});
  const auto removed = TakeAll<RemovedJob>(&events);
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_EQ(removed[0].nspace, "j");
  EXPECT_TRUE(removed[0].registered);
  EXPECT_EQ(removed[0].readers, std::set<NodeId>{9});
  table.Disconnect(1);
  EXPECT_TRUE(events.empty());
}

TEST(JobTable, ARestartResetsTheStateOfTheRank) {
  auto spec = std::make_shared<JobSpec>(*SmallJob("j"));
  spec->max_restarts = 1;
  CoreEvents events;
  JobTable table(5, &events);
  const Job* job = table.Add(spec);
  ASSERT_TRUE(table.Connect(1, {"j", 0}));
  ASSERT_TRUE(table.Connect(2, {"j", 0}));
  events = {};
  // The rank may be restarted, so it does not count as gone yet.
  table.Disconnect(1);
  EXPECT_TRUE(events.empty());
  table.MarkRestarted("j", 0, 1);
  table.MarkRestarted("j", 0, 1);
  table.MarkRestarted("j", 9, 1);
  const auto restarted = TakeAll<RestartedRank>(&events);
  ASSERT_EQ(restarted.size(), 1u);
  EXPECT_EQ(restarted[0].proc, (ProcId{"j", 0}));
  EXPECT_EQ(table.ProcOf(2), nullptr);
  EXPECT_FALSE(job->ranks[0].called_init);
  EXPECT_EQ(job->ranks[0].incarnation, 1u);
  table.Disconnect(2);
  EXPECT_FALSE(job->ranks[0].lost);
  // No further restart is allowed, so the rank is lost.
  ASSERT_TRUE(table.Connect(3, {"j", 0}));
  table.Disconnect(3);
  EXPECT_TRUE(job->ranks[0].lost);
  table.MarkEnded("j", 0);
  table.MarkRestarted("j", 0, 2);
  EXPECT_EQ(job->ranks[0].incarnation, 1u);
}

TEST(JobTable, AToolIsConnectedWithoutAJob) {
  CoreEvents events;
  JobTable table(0, &events);
  EXPECT_FALSE(table.OwnerOf({"tool", 0}).has_value());
  ASSERT_TRUE(table.ConnectTool(1, {"tool", 0}, {7, 8}));
  EXPECT_FALSE(table.ConnectTool(1, {"tool", 0}, {}));
  EXPECT_EQ(table.OwnerOf({"tool", 0})->uid, 7u);
  EXPECT_EQ(table.OwnerOf({"tool", 0})->gid, 8u);
  EXPECT_EQ(*table.ProcOf(1), (ProcId{"tool", 0}));
  table.Finalize(1);
  table.Disconnect(1);
  EXPECT_EQ(table.ProcOf(1), nullptr);
  EXPECT_TRUE(events.empty());
}

std::shared_ptr<const JobSpec> JobOfUser(const std::string& nspace,
                                         uint32_t uid) {
  auto spec = std::make_shared<JobSpec>(*SmallJob(nspace));
  spec->uid = uid;
  return spec;
}

TEST(JobTable, JobsOfOtherUsersAreHidden) {
  JobTable table(0);
  table.Add(JobOfUser("mine", 7));
  table.Add(JobOfUser("too", 7));
  table.Add(JobOfUser("theirs", 8));
  EXPECT_TRUE(table.MaySee({"mine", 0}, "too"));
  EXPECT_FALSE(table.MaySee({"mine", 0}, "theirs"));
  EXPECT_TRUE(table.MaySee({"mine", 0}, "unknown"));
  table.NoteMet({{"mine", 0}, {"theirs", 0}});
  EXPECT_TRUE(table.MaySee({"mine", 0}, "theirs"));
  EXPECT_FALSE(table.MaySee({"too", 0}, "theirs"));
  table.Remove("theirs");
  table.Add(JobOfUser("theirs", 8));
  EXPECT_FALSE(table.MaySee({"mine", 0}, "theirs"));
}

TEST(JobTable, AToolOfAnotherUserSeesOnlyThatUsersJobs) {
  JobTable table(0);
  table.Add(JobOfUser("job", 8));
  ASSERT_TRUE(table.ConnectTool(1, {"ours", 0}, {7, 7}));
  EXPECT_TRUE(table.MaySee({"ours", 0}, "job"));
  ASSERT_TRUE(table.ConnectTool(2, {"theirs", 0}, {9, 9}, true));
  EXPECT_EQ(table.UserSeenBy({"theirs", 0}), 9u);
  EXPECT_FALSE(table.MaySee({"theirs", 0}, "job"));
  ASSERT_TRUE(table.ConnectTool(3, {"owner", 0}, {8, 9}, true));
  EXPECT_TRUE(table.MaySee({"owner", 0}, "job"));
}

TEST(JobTable, AnEndedParentIsKeptForItsChildren) {
  CoreEvents events;
  JobTable table(5, &events);
  table.Add(SmallJob("parent"));
  auto child = std::make_shared<JobSpec>(*SmallJob("child"));
  child->parent = {"parent", 1};
  table.Add(child);
  Actions actions;
  table.MarkRegistered("parent");
  EXPECT_FALSE(table.IsFormerParent("parent", 0));
  table.Remove("parent");
  EXPECT_EQ(table.Find("parent"), nullptr);
  EXPECT_TRUE(table.IsFormerParent("parent", 2));
  EXPECT_TRUE(table.IsFormerParent("parent", kRankWildcard));
  EXPECT_FALSE(table.IsFormerParent("parent", 3));
  EXPECT_EQ(table.size(), 2u);
  // The data of the former parent was removed with its job, so it is registered
  // again.
  table.Register("parent", &actions);
  table.Register("parent", &actions);
  EXPECT_EQ(actions.size(), 1u);
  EXPECT_TRUE(TakeAll<ReleasedJob>(&events).empty());
  table.Remove("child");
  const auto released = TakeAll<ReleasedJob>(&events);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].nspace, "parent");
  EXPECT_FALSE(table.IsFormerParent("parent", 2));
  EXPECT_EQ(table.size(), 0u);
}

TEST(JobTable, AParentIsNotKeptForChildrenWithoutLocalRanks) {
  JobTable table(7);
  table.Add(SmallJob("parent"));
  auto child = std::make_shared<JobSpec>(*SmallJob("child"));
  child->parent = {"parent", 1};
  table.Add(child);
  table.Remove("parent");
  EXPECT_FALSE(table.IsFormerParent("parent", 0));
}

}  // namespace
}  // namespace canopy::core
