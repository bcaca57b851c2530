#include "server/core/job/head.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// The head of a job with rank 0 at the controller, agent 0, and ranks 1 and 2
// at agent 1.
class HeadTest : public testing::Test {
 protected:
  HeadTest() : tree_(3, 2), table_(0) {
    spec_ = std::make_shared<JobSpec>(*JobOn("job", {0, 1, 1}));
    spec_->timeout_seconds = 60;
    Make();
  }
  void Make() {
    table_.Remove("job");
    const Job* entry = table_.Add(spec_);
    head_.reset();
    part_ = std::make_unique<JobPart>(
        table_, *entry, JobPlace(0, tree_, entry->spec, 0, {}),
        JobPrepare{Bytes(EncodeJobSpec(*spec_)), 0, {}}, true);
    head_ = std::make_unique<JobHead>(*part_, names_, true);
  }
  JobStep Step() { return {{now_, out_}, 0, tree_, nullptr, &table_.holds()}; }
  void Launch(bool check_only = false) {
    head_->Launch(Step(), {spec_, false, check_only});
  }
  // Delivers the answers of both agents to the first phase. Returns true if the
  // job is over then.
  bool Prepare(int status = 0) {
    part_->OnLocalPrepared(Step(), {"job", status, "why"});
    part_->answers().AnswerPrepare(1, {1, {}});
    head_->OnAnswer();
    return head_->Advance(Step());
  }
  void Run() {
    Launch();
    EXPECT_FALSE(Prepare());
    part_->answers().AnswerStart(0, {1, {}});
    part_->answers().AnswerStart(1, {2, {}});
    EXPECT_FALSE(head_->Advance(Step()));
  }
  // Ends the rank. Returns true if the job is over then.
  bool Exit(Rank rank, int wait_status = 0) {
    const ProcExit exit{rank, wait_status, false, false, false};
    part_->AddEnd({exit, false});
    head_->OnExit(Step(), exit);
    head_->streams().CloseAll(rank);
    return head_->Advance(Step());
  }
  JobChanged Last() { return All<JobChanged>(out_).back(); }
  HeadRecord Persisted() {
    return *DecodeHeadRecord(
        All<PersistControlState>(out_).back().state.view());
  }

  TimeNs now_ = 1;
  Tree tree_;
  JobTable table_;
  const std::vector<std::string> names_ = {"a", "b", "c"};
  std::shared_ptr<JobSpec> spec_;
  std::unique_ptr<JobPart> part_;
  std::unique_ptr<JobHead> head_;
  Actions out_;
};

TEST_F(HeadTest, ReportsThePhasesInOrder) {
  Launch();
  EXPECT_FALSE(head_->Advance(Step()));
  EXPECT_EQ(Last().phase, JobPhase::kPreparing);
  EXPECT_FALSE(Prepare());
  EXPECT_EQ(Last().phase, JobPhase::kStarting);
  part_->answers().AnswerStart(0, {1, {}});
  part_->answers().AnswerStart(1, {2, {}});
  head_->OnAnswer();
  EXPECT_FALSE(head_->Advance(Step()));
  EXPECT_EQ(Last().phase, JobPhase::kRunning);
  EXPECT_EQ(Last().procs_started, 3u);
  EXPECT_FALSE(Exit(0));
  EXPECT_FALSE(Exit(1));
  EXPECT_TRUE(Exit(2));
  EXPECT_EQ(Last().phase, JobPhase::kEnded);
  EXPECT_EQ(Last().exit_code, 0);
}

TEST_F(HeadTest, TheStartIsPersistedBeforeItIsSent) {
  Launch();
  EXPECT_FALSE(Persisted().started);
  out_.clear();
  Prepare();
  ASSERT_TRUE(std::holds_alternative<PersistControlState>(out_.front()));
  EXPECT_TRUE(Persisted().started);
  EXPECT_EQ(Sent<JobStart>(out_).size(), 1u);
}

TEST_F(HeadTest, AnErrorInThePreparationEndsTheJob) {
  Launch();
  EXPECT_TRUE(Prepare(kErrNotFound));
  EXPECT_EQ(Last().exit_code, kExitLaunchFailed);
  EXPECT_EQ(Last().status, kErrNotFound);
  EXPECT_EQ(Last().text, "a: why");
  EXPECT_TRUE(Sent<JobStart>(out_).empty());
}

TEST_F(HeadTest, AJobThatIsOnlyCheckedEndsWhenAllNodesArePrepared) {
  Launch(true);
  EXPECT_TRUE(Prepare());
  EXPECT_EQ(Last().phase, JobPhase::kEnded);
  EXPECT_TRUE(Sent<JobStart>(out_).empty());
}

TEST_F(HeadTest, TheFirstFailureEndsTheRestAndGivesTheExitCode) {
  Run();
  EXPECT_FALSE(Exit(1, 3 << 8));
  EXPECT_EQ(Sent<JobKill>(out_).size(), 1u);
  EXPECT_EQ(Last().phase, JobPhase::kEnding);
  EXPECT_FALSE(Exit(0, 15));
  EXPECT_EQ(Sent<JobKill>(out_).size(), 1u);
  EXPECT_TRUE(Exit(2, 15));
  EXPECT_EQ(Last().exit_code, 3);
  EXPECT_EQ(Last().first_failed, 1u);
}

TEST_F(HeadTest, ALostNodeIsAFailure) {
  Run();
  tree_.SetAlive(1, false);
  part_->OnNodeLost(Step(), 1);
  head_->OnNodeLost(Step(), 1, "no route");
  EXPECT_FALSE(head_->Advance(Step()));
  EXPECT_EQ(Last().status, kErrNodeDown);
  EXPECT_EQ(Last().procs_ended, 2u);
  EXPECT_TRUE(Exit(0, 15));
  EXPECT_EQ(Last().exit_code, kExitNodeLost);
}

TEST_F(HeadTest, TheSecondKillRequestSendsSigkillAtOnce) {
  Run();
  EXPECT_FALSE(head_->OnKillRequested(Step(), {"job", 0, ""}));
  EXPECT_EQ(Sent<JobKill>(out_).size(), 1u);
  EXPECT_FALSE(head_->OnKillRequested(Step(), {"job", 0, "", false, true}));
  EXPECT_TRUE(Sent<JobSignal>(out_).empty());
  EXPECT_FALSE(head_->OnKillRequested(Step(), {"job", 0, ""}));
  EXPECT_EQ(Sent<JobSignal>(out_)[0].second.signal, 9);
  EXPECT_EQ(Persisted().kill_requests, 2u);
}

TEST_F(HeadTest, TheEndsOfAbortedRanksDoNotEndTheJob) {
  Run();
  EXPECT_FALSE(head_->Abort(Step(), {{"job", 0}, 5, "enough", {}}, {2}));
  EXPECT_EQ(Sent<JobKill>(out_)[0].second.ranks, std::vector<Rank>{2});
  EXPECT_EQ(Persisted().expected, std::vector<Rank>{2});
  EXPECT_FALSE(Exit(2, 15));
  EXPECT_EQ(Last().phase, JobPhase::kRunning);
  EXPECT_FALSE(Exit(1));
  EXPECT_TRUE(Exit(0));
  EXPECT_EQ(Last().exit_code, 5);
}

TEST_F(HeadTest, AReportIsRequestedBeforeTheTimeLimitEndsTheJob) {
  Run();
  EXPECT_FALSE(head_->OnTick(Step()));
  now_ = head_->NextDeadline();
  EXPECT_FALSE(head_->OnTick(Step()));
  EXPECT_TRUE(Last().out_of_time);
  EXPECT_TRUE(Sent<JobKill>(out_).empty());
  now_ = head_->NextDeadline();
  EXPECT_FALSE(head_->OnTick(Step()));
  EXPECT_EQ(Last().status, kErrTimeout);
  EXPECT_EQ(Sent<JobKill>(out_).size(), 1u);
}

constexpr TimeNs kSecond = 1'000'000'000;

TEST_F(HeadTest, ANewTimeLimitReplacesTheOldOneAndCausesAWarning) {
  Run();
  head_->OnTimeLimitSet(Step(), {"job", 100, 10});
  EXPECT_EQ(head_->ends_at(), now_ + 100 * kSecond);
  EXPECT_EQ(head_->NextDeadline(), now_ + 90 * kSecond);
  EXPECT_EQ(Persisted().timeout, head_->ends_at());
  now_ = head_->NextDeadline();
  EXPECT_FALSE(head_->OnTick(Step()));
  ASSERT_TRUE(Last().warning.has_value());
  EXPECT_EQ(Last().warning->number, 1u);
  EXPECT_EQ(Last().warning->seconds_left, 10u);
  EXPECT_EQ(Last().phase, JobPhase::kRunning);
  EXPECT_EQ(Persisted().warn_at, kNever);
  // A warning that is late is reported at once, as a new warning.
  head_->OnTimeLimitSet(Step(), {"job", 5, 60});
  EXPECT_EQ(Last().warning->number, 2u);
  EXPECT_EQ(Last().warning->seconds_left, 5u);
  now_ += 5 * kSecond;
  EXPECT_FALSE(head_->OnTick(Step()));
  EXPECT_TRUE(Last().out_of_time);
  EXPECT_FALSE(Last().warning.has_value());
  now_ = head_->NextDeadline();
  EXPECT_FALSE(head_->OnTick(Step()));
  EXPECT_EQ(Last().status, kErrTimeout);
  EXPECT_EQ(Last().text,
            "the job ran into the time limit that its scheduler has set; ranks "
            "0-2 had not ended");
}

TEST_F(HeadTest, TimeThatADebuggerHoldsTheJobDoesNotCount) {
  now_ = 0;
  Run();
  table_.holds().Note(10 * kSecond, "job", {1, 1, true, 10 * kSecond});
  now_ = 60 * kSecond;
  EXPECT_FALSE(head_->OnTick(Step()));
  EXPECT_FALSE(Last().out_of_time);
  EXPECT_EQ(head_->NextDeadline(), 110 * kSecond);
  now_ = 70 * kSecond;
  table_.holds().Note(now_, "job", {1, 2, false, 0});
  head_->OnHoldEnded(Step());
  EXPECT_EQ(head_->NextDeadline(), 120 * kSecond);
  EXPECT_EQ(Persisted().timeout, 120 * kSecond);
  now_ = 120 * kSecond;
  EXPECT_FALSE(head_->OnTick(Step()));
  EXPECT_TRUE(Last().out_of_time);
}

TEST_F(HeadTest, AtASuccessorAnEarlierHoldExtendsTheTimeLimit) {
  spec_->timeout_seconds = 0;
  Make();
  HeadRecord record;
  record.started = true;
  record.timeout = 60 * kSecond;
  head_->Recover(Step(), record);
  table_.holds().Note(50 * kSecond, "job", {1, 1, true, 10 * kSecond});
  now_ = 60 * kSecond;
  EXPECT_FALSE(head_->OnTick(Step()));
  EXPECT_EQ(head_->NextDeadline(), 110 * kSecond);
}

TEST_F(HeadTest, ATimeLimitCanBeRemoved) {
  Run();
  head_->OnTimeLimitSet(Step(), {"job", 0, 10});
  EXPECT_EQ(head_->ends_at(), kNever);
  EXPECT_EQ(head_->NextDeadline(), kNever);
}

TEST_F(HeadTest, ALimitForAJobThatIsEndingIsIgnored) {
  Run();
  EXPECT_FALSE(head_->OnKillRequested(Step(), {"job", 0, "enough"}));
  const TimeNs before = head_->ends_at();
  head_->OnTimeLimitSet(Step(), {"job", 100, 100});
  EXPECT_EQ(head_->ends_at(), before);
  EXPECT_FALSE(Last().warning.has_value());
}

TEST_F(HeadTest, ASuccessorKeepsATimeLimitThatWasSet) {
  Run();
  head_->OnTimeLimitSet(Step(), {"job", 100, 10});
  const HeadRecord record = Persisted();
  Make();
  out_.clear();
  head_->Recover(Step(), record);
  EXPECT_EQ(head_->ends_at(), now_ + 100 * kSecond);
  now_ = head_->NextDeadline();
  EXPECT_EQ(now_, record.warn_at);
  EXPECT_FALSE(head_->OnTick(Step()));
  EXPECT_EQ(Last().warning->number, 1u);
}

TEST_F(HeadTest, OpenStreamsWithoutOutputDelayTheEndForALimitedTime) {
  spec_->timeout_seconds = 0;
  Make();
  Run();
  for (const Rank rank : {0u, 1u, 2u}) {
    const ProcExit exit{rank, 0, false, false, false};
    part_->AddEnd({exit, false});
    head_->OnExit(Step(), exit);
  }
  EXPECT_FALSE(head_->Advance(Step()));
  now_ = head_->NextDeadline();
  ASSERT_NE(now_, kNever);
  EXPECT_TRUE(head_->OnTick(Step()));
  EXPECT_EQ(Last().phase, JobPhase::kEnded);
}

TEST_F(HeadTest, ASuccessorContinuesTheEndOfAFailedJob) {
  Run();
  Exit(1, 3 << 8);
  const HeadRecord record = Persisted();
  Make();
  out_.clear();
  head_->Recover(Step(), record);
  EXPECT_EQ(part_->state(), JobPartState::kStarting);
  part_->SyncChildren(Step());
  EXPECT_EQ(Sent<JobKill>(out_).size(), 1u);
  EXPECT_FALSE(head_->Advance(Step()));
  EXPECT_EQ(Last().phase, JobPhase::kEnding);
  EXPECT_EQ(Last().exit_code, 3);
}

TEST_F(HeadTest, DescribesTheWaitingOperation) {
  Launch();
  part_->answers().AnswerPrepare(1, {1, {}});
  Waiting preparing;
  EXPECT_TRUE(head_->Describe(now_ + 2'000'000, &preparing));
  EXPECT_EQ(preparing.operation, "launch, preparing the nodes");
  EXPECT_EQ(preparing.age_ms, 2u);
  ASSERT_EQ(preparing.missing.size(), 1u);
  EXPECT_EQ(preparing.missing[0].proc.rank, 0u);
  Run();
  Waiting running;
  EXPECT_FALSE(head_->Describe(now_, &running));
}

}  // namespace
}  // namespace canopy::core
