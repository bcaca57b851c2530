#include "server/core/job/job_set.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// The jobs of agent 1, which is below the root and above 3 and 4.
class JobSetTest : public testing::Test {
 protected:
  JobSetTest()
      : tree_(7, 2),
        table_(1, &events_),
        resync_(1, tree_),
        jobs_(1, names_, tree_, table_, resync_),
        spec_(JobOn("job", {1, 3})) {}
  JobStep Step() { return {{1, out_}, 1, tree_}; }
  JobEntry& Take() {
    jobs_.TakePart(Step(), spec_,
                   JobPrepare{Bytes(EncodeJobSpec(*spec_)), 0, {}});
    return *jobs_.Find("job");
  }
  JobEntry& Run() {
    JobEntry& job = Take();
    job.part.Start(Step(), 0);
    job.part.answers().AnswerStart(1, {1, {}});
    job.part.answers().AnswerStart(3, {1, {}});
    jobs_.Advance(Step(), job);
    out_.clear();
    return job;
  }

  CoreEvents events_;
  Tree tree_;
  JobTable table_;
  JobResync resync_;
  const std::vector<std::string> names_ = {"a", "b", "c", "d", "e", "f", "g"};
  JobSet jobs_;
  std::shared_ptr<const JobSpec> spec_;
  Actions out_;
};

TEST_F(JobSetTest, TheLeaderLaunchesAndSoDoesTheControllerOfASpawner) {
  EXPECT_EQ(jobs_.MayLaunch(*spec_).code(), kErrNotSupported);
  JobSpec spawned = *spec_;
  spawned.parent = {"parent", 0};
  EXPECT_TRUE(jobs_.MayLaunch(spawned).ok());
  tree_.SetInService(0, false);
  EXPECT_TRUE(jobs_.MayLaunch(*spec_).ok());
  tree_.SetInService(0, true);
  EXPECT_EQ(jobs_.MayLaunch(*spec_).code(), kErrNotSupported);
  tree_.SetAlive(0, false);
  EXPECT_TRUE(jobs_.MayLaunch(*spec_).ok());
  jobs_.Launch(Step(), {spec_});
  EXPECT_NE(jobs_.FindControlled("job"), nullptr);
  EXPECT_EQ(jobs_.MayLaunch(*spec_).code(), kErrExists);
  tree_.SetAlive(3, false);
  EXPECT_EQ(jobs_.MayLaunch(*JobOn("other", {3})).code(), kErrNodeDown);
}

TEST_F(JobSetTest, TakePartAddsTheJobAndPreparesTheChildren) {
  resync_.OnUnknown(Step(), 6, "job");
  JobEntry& job = Take();
  EXPECT_EQ(jobs_.FindControlled("job"), nullptr);
  EXPECT_NE(table_.Find("job"), nullptr);
  EXPECT_EQ(Sent<JobPrepare>(out_).size(), 1u);
  // The inquirer is a provisional child, so it gets the job's end.
  EXPECT_EQ(job.part.place().Below(), (std::vector<NodeId>{3, 6}));
}

TEST_F(JobSetTest, AJobWithoutProcessesIsReleasedAtOnce) {
  JobEntry& job = Take();
  jobs_.Release(Step(), job);
  EXPECT_EQ(jobs_.size(), 0u);
  EXPECT_EQ(table_.Find("job"), nullptr);
  EXPECT_EQ(Sent<JobForget>(out_).size(), 1u);
  EXPECT_EQ(All<DropJob>(out_).size(), 1u);
}

TEST_F(JobSetTest, AJobWithProcessesIsReleasedWhenTheyHaveEnded) {
  JobEntry& job = Run();
  jobs_.Release(Step(), job);
  EXPECT_TRUE(job.releasing());
  EXPECT_EQ(All<KillLocal>(out_).size(), 1u);
  job.deferred.emplace_back(0, JobStart{"job"});
  jobs_.RecordExit(Step(), job, {0, 15});
  jobs_.Advance(Step(), job);
  EXPECT_EQ(jobs_.size(), 0u);
  // The message that was deferred for the next part is released.
  const auto released = jobs_.TakeReleased();
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].src, 0u);
}

// A query to the lost sender would have no answer, and no later loss would
// repeat it.
TEST_F(JobSetTest, DeferredMessagesOfALostSenderAreDropped) {
  JobEntry& job = Run();
  jobs_.Release(Step(), job);
  job.deferred.emplace_back(0, JobPrepare{});
  job.deferred.emplace_back(2, JobStart{"job"});
  tree_.SetAlive(0, false);
  jobs_.RecordExit(Step(), job, {0, 15});
  jobs_.Advance(Step(), job);
  const auto released = jobs_.TakeReleased();
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].src, 2u);
}

TEST_F(JobSetTest, ProcessesThatAreGoneAreNotStartedAgain) {
  jobs_.Release(Step(), Take());
  JobEntry& again = Take();
  EXPECT_FALSE(again.part.has_local());
  EXPECT_EQ(again.part.place().lost(), std::set<NodeId>{1});
}

// Another job refers to this one, so its map is borrowed.
TEST_F(JobSetTest, RanksOfAnEndedPartAreMarkedAsEndedInABorrowedMap) {
  jobs_.Release(Step(), Take());
  table_.Add(spec_);
  jobs_.OnMap("job");
  EXPECT_TRUE(table_.Find("job")->ranks[0].ended);
  EXPECT_FALSE(table_.Find("job")->ranks[1].ended) << "of another agent";
  // The ranks of a job whose part has yet to arrive are not marked.
  table_.Add(JobOn("later", {1}));
  jobs_.OnMap("later");
  EXPECT_FALSE(table_.Find("later")->ranks[0].ended);
}

// The job is not over, and the other engines must not take it for ended.
TEST_F(JobSetTest, AnIdlePartIsDroppedAndItsMapIsKept) {
  spec_ = JobOn("job", {3});
  JobEntry& job = Take();
  tree_.SetAlive(3, false);
  jobs_.OnNodeLost(Step(), job, 3, "");
  jobs_.Advance(Step(), job);
  EXPECT_EQ(jobs_.size(), 0u);
  EXPECT_EQ(Sent<NodeLost>(out_).size(), 1u);
  EXPECT_NE(table_.Find("job"), nullptr);
  const auto left = TakeAll<LeftJob>(&events_);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].nspace, "job");
  EXPECT_EQ(left[0].controller, 0u);
}

TEST_F(JobSetTest, AJobIsReleasedWhenItsControllerIsLost) {
  jobs_.OnControllerLost(Step(), Run(), "gone");
  EXPECT_EQ(All<KillLocal>(out_).size(), 1u);
  EXPECT_NE(All<LogLine>(out_)[0].text.find("agent that controls it, a"),
            std::string::npos);
}

TEST_F(JobSetTest, AFinishedJobIsReportedAsEndedToAllAgents) {
  tree_.SetAlive(0, false);
  jobs_.Launch(Step(), {spec_});
  jobs_.Finish(Step(), *jobs_.Find("job"));
  EXPECT_TRUE(resync_.HasEnded("job"));
  EXPECT_EQ(Sent<JobForget>(out_).size(), 1u);
  EXPECT_EQ(jobs_.size(), 0u);
}

TEST_F(JobSetTest, ASuccessorRecoversPartsAndHeads) {
  JobRecovered in;
  in.job = spec_;
  in.started = true;
  jobs_.Recover(Step(), in);
  EXPECT_EQ(jobs_.Find("job")->part.state(), JobPartState::kStarting);
  EXPECT_EQ(jobs_.FindControlled("job"), nullptr);
  in.job = JobOn("other", {1});
  in.control = Bytes(EncodeHeadRecord({}));
  jobs_.Recover(Step(), in);
  EXPECT_NE(jobs_.FindControlled("other"), nullptr);
}

TEST_F(JobSetTest, AJobWithAnUnreadableRecordIsDropped) {
  JobRecovered in;
  in.job = spec_;
  in.control = Bytes("garbage");
  jobs_.Recover(Step(), in);
  in.control.reset();
  in.over = true;
  jobs_.Recover(Step(), in);
  EXPECT_EQ(All<ForgetLocal>(out_).size(), 2u);
  EXPECT_TRUE(resync_.HasEnded("job"));
  EXPECT_EQ(jobs_.size(), 0u);
}

TEST_F(JobSetTest, ForEachSkipsJobsDroppedDuringTheVisit) {
  Take();
  spec_ = JobOn("next", {1, 3});
  jobs_.TakePart(Step(), spec_,
                 JobPrepare{Bytes(EncodeJobSpec(*spec_)), 0, {}, false});
  int visits = 0;
  jobs_.ForEach([&](JobEntry&) {
    ++visits;
    if (JobEntry* next = jobs_.Find("next")) jobs_.Release(Step(), *next);
  });
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace canopy::core
