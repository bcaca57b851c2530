#include "server/control/staging.h"

#include <gtest/gtest.h>

#include <utility>

#include "server/ports/input_sink_testing.h"

namespace canopy::control {
namespace {

using core::JobPhase;

constexpr char kCopying[] = "job-preload";

std::shared_ptr<const JobSpec> Job() {
  JobSpec job;
  job.nspace = "job";
  job.uid = 7;
  job.apps.resize(1);
  job.nodes = {{"n0", {}, 0, 1}, {"n1", {}, 1, 1}};
  job.procs = {{0, 0, ""}, {1, 0, ""}, {1, 0, ""}};
  return std::make_shared<const JobSpec>(job);
}

FileSource OnNode2() {
  return {JobNode{"n2", {}, 2, 1}, {{"files/x", "/etc/x", "", ""}}};
}

class StagingTest : public testing::Test {
 protected:
  StagingTest()
      : staging_(
            [this](const std::string& nspace, Status status) {
              EXPECT_EQ(nspace, "job");
              done_.push_back(std::move(status));
            },
            [this](const std::string&, uint64_t bytes) { taken_ += bytes; }) {
    staging_.set_sink(&sink_);
  }

  void Begin() {
    staging_.Begin(Job(), OnNode2());
    ASSERT_EQ(sink_.Take<core::LaunchRequested>().size(), 1u);
  }
  bool Output(Rank rank, uint16_t channel, const std::string& text) {
    return staging_.OnOutput({kCopying, rank, channel, Bytes(text)});
  }
  void AllWritten() {
    EXPECT_TRUE(Output(0, 2, "written\n"));
    EXPECT_TRUE(done_.empty());
    EXPECT_TRUE(Output(1, 2, "written\n"));
    sink_.inputs.clear();
  }
  bool Change(const std::string& nspace, JobPhase phase, int status = kSuccess,
              int exit_code = 0) {
    core::JobChanged change;
    change.nspace = nspace;
    change.phase = phase;
    change.status = status;
    change.exit_code = exit_code;
    change.text = status == kSuccess ? "" : "rank 2 failed";
    return staging_.OnJobChanged(change);
  }

  RecordingSink sink_;
  std::vector<Status> done_;
  uint64_t taken_ = 0;
  Staging staging_;
};

TEST_F(StagingTest, AStagingJobHasAWriterOnEachNodeAndOneReader) {
  const JobSpec job = StagingJob(*Job(), OnNode2());
  EXPECT_EQ(job.nspace, kCopying);
  EXPECT_EQ(job.uid, 7u);
  EXPECT_EQ(job.stdin_target, StdinTarget::kAll);
  ASSERT_EQ(job.procs.size(), 3u);
  EXPECT_EQ(job.nodes[job.procs[2].node].name, "n2");
  const std::vector<std::string> args = {
      preload::kStageProgram, preload::kStageRead, "files/x", "/etc/x", "", ""};
  EXPECT_EQ(job.apps[1].argv, args);
  FileSource own = OnNode2();
  own.node->agent = 1;
  EXPECT_EQ(StagingJob(*Job(), own).nodes.size(), 2u);
  EXPECT_EQ(StagingJob(*Job(), {}).procs.size(), 2u);
}

TEST_F(StagingTest, DataIsWrittenAndThenAcknowledged) {
  Begin();
  EXPECT_TRUE(Output(2, 2, "archive"));
  const auto offered = sink_.Take<core::InputOffered>();
  ASSERT_EQ(offered.size(), 1u);
  EXPECT_EQ(offered[0].nspace, kCopying);
  EXPECT_EQ(offered[0].data.view(), "archive");
  EXPECT_TRUE(sink_.Take<core::OutputConsumed>().empty());
  EXPECT_TRUE(staging_.OnInputConsumed({kCopying, 7}));
  const auto consumed = sink_.Take<core::OutputConsumed>();
  ASSERT_EQ(consumed.size(), 1u);
  EXPECT_EQ(consumed[0].rank, 2u);
  EXPECT_EQ(consumed[0].bytes, 7u);
  EXPECT_TRUE(Output(2, 2, "")) << "its end is not that of the input";
  EXPECT_TRUE(sink_.Take<core::InputOffered>().empty());
}

TEST_F(StagingTest, TheCopiesAreKeptUntilTheJobIsPrepared) {
  Begin();
  AllWritten();
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_TRUE(done_[0].ok());
  EXPECT_FALSE(Change("job", JobPhase::kPreparing));
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_FALSE(Change("job", JobPhase::kStarting));
  const auto end = sink_.Take<core::InputOffered>();
  ASSERT_EQ(end.size(), 1u);
  EXPECT_TRUE(end[0].data.empty());
  EXPECT_TRUE(Change(kCopying, JobPhase::kEnded));
  EXPECT_FALSE(Change("job", JobPhase::kRunning));
  EXPECT_EQ(done_.size(), 1u);
  EXPECT_TRUE(sink_.inputs.empty());
}

TEST_F(StagingTest, AFailedProcessReportsTheReason) {
  Begin();
  EXPECT_TRUE(Output(2, 4, "program \"x\" to preload: none\nmore\n"));
  EXPECT_TRUE(Change(kCopying, JobPhase::kEnding, kErrJobNonZeroTerm, 127));
  EXPECT_TRUE(done_.empty());
  EXPECT_TRUE(Change(kCopying, JobPhase::kEnded, kErrJobNonZeroTerm, 127));
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].code(), kErrJobExeNotFound);
  EXPECT_EQ(done_[0].message(), "program \"x\" to preload: none");
}

TEST_F(StagingTest, AFailedCopyIsTheJobsFailure) {
  Begin();
  EXPECT_TRUE(Change(kCopying, JobPhase::kEnded, kErrNodeDown, 1));
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].code(), kErrNodeDown);
  EXPECT_NE(done_[0].message().find("rank 2 failed"), std::string::npos);
}

TEST_F(StagingTest, AStagingJobThatEndsEarlyIsAFailure) {
  Begin();
  EXPECT_TRUE(Change(kCopying, JobPhase::kEnded));
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].code(), kErrJobFailedToLaunch);
}

TEST_F(StagingTest, AJobThatIsBeingEndedIsNotLaunched) {
  Begin();
  staging_.OnInput(core::KillRequested{"job", kErrJobCanceled, "too late"});
  const auto kills = sink_.Take<core::KillRequested>();
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].nspace, kCopying);
  AllWritten();
  EXPECT_TRUE(done_.empty());
  EXPECT_TRUE(Change(kCopying, JobPhase::kEnded, kErrJobCanceled, 143));
  ASSERT_EQ(done_.size(), 1u);
  EXPECT_EQ(done_[0].code(), kErrJobCanceled);
  EXPECT_EQ(done_[0].message(), "too late");
}

TEST_F(StagingTest, LostCopiesEndAJobThatIsNotYetPrepared) {
  Begin();
  AllWritten();
  EXPECT_TRUE(Change(kCopying, JobPhase::kEnded, kErrJobAbortedBySig, 137));
  const auto kills = sink_.Take<core::KillRequested>();
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].nspace, "job");
}

TEST_F(StagingTest, InputOfTheJobWaitsUntilTheFilesAreWritten) {
  Begin();
  staging_.OnInput(core::InputOffered{"job", Bytes(std::string("input"))});
  staging_.OnInput(core::SignalRequested{"job", 10, {}});
  EXPECT_TRUE(sink_.inputs.empty());
  Output(0, 2, "written\n");
  Output(1, 2, "written\n");
  const auto offered = sink_.Take<core::InputOffered>();
  ASSERT_EQ(offered.size(), 1u);
  EXPECT_EQ(offered[0].nspace, "job");
  staging_.OnInput(core::SignalRequested{"job", 10, {}});
  EXPECT_EQ(sink_.Take<core::SignalRequested>().size(), 1u);
}

TEST_F(StagingTest, ALauncherSendsItsFiles) {
  staging_.Begin(Job(), {});
  staging_.Offer("job", Bytes(std::string("archive")));
  staging_.Offer("job", Bytes());
  staging_.Offer("other", Bytes(std::string("x")));
  const auto offered = sink_.Take<core::InputOffered>();
  ASSERT_EQ(offered.size(), 1u);
  EXPECT_EQ(offered[0].nspace, kCopying);
  EXPECT_TRUE(staging_.OnInputConsumed({kCopying, 7}));
  EXPECT_EQ(taken_, 7u);
}

TEST_F(StagingTest, InputsOfOtherJobsArePassedOn) {
  Begin();
  EXPECT_FALSE(Change("other", JobPhase::kEnded));
  EXPECT_FALSE(staging_.OnOutput({"other", 0, 2, Bytes(std::string("x"))}));
  EXPECT_FALSE(staging_.OnInputConsumed({"other", 1}));
  staging_.OnInput(core::KillRequested{"other", kErrJobCanceled, ""});
  EXPECT_EQ(sink_.Take<core::KillRequested>().at(0).nspace, "other");
}

}  // namespace
}  // namespace canopy::control
