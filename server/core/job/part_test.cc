#include "server/core/job/part.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// The part of agent 1, with ranks 0 and 1 of a job that agent 0 controls. Ranks
// 2 and 3 are on agents 3 and 4 below it.
class PartTest : public testing::Test {
 protected:
  PartTest() : tree_(7, 2), table_(1) { Make({}); }

  void Make(std::set<NodeId> lost) {
    spec_ = std::make_shared<JobSpec>(*JobOn("job", {1, 1, 3, 4}));
    spec_->kill_grace_seconds = 2;
    table_.Remove("job");
    const Job* entry = table_.Add(spec_);
    part_ = std::make_unique<JobPart>(
        table_, *entry, JobPlace(1, tree_, entry->spec, 0, std::move(lost)),
        JobPrepare{Bytes(EncodeJobSpec(*spec_)), 0, {}}, true);
  }
  JobStep Step() { return {{1, out_}, 1, tree_}; }
  template <typename T>
  size_t Count() {
    return All<T>(out_).size();
  }
  void Running() {
    part_->Start(Step(), 0);
    for (const NodeId n : {1u, 3u, 4u})
      part_->answers().AnswerStart(n, {1, {}});
    part_->Advance();
  }
  void EndHere() {
    for (const Rank rank : {0u, 1u}) part_->AddEnd({{rank, 0}, false});
  }

  Tree tree_;
  JobTable table_;
  std::shared_ptr<JobSpec> spec_;
  std::unique_ptr<JobPart> part_;
  Actions out_;
};

TEST_F(PartTest, PrepareActsOnTheNodeAndTheChildren) {
  part_->Begin(Step());
  part_->Prepare(Step());
  EXPECT_EQ(Count<RegisterJob>(), 1u);
  EXPECT_EQ(Count<PrepareLocal>(), 1u);
  EXPECT_EQ(Count<PersistRecord>(), 1u);
  const auto sent = Sent<JobPrepare>(out_);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].first, 4u);
  EXPECT_EQ(sent[1].second.controller, 0u);
}

TEST_F(PartTest, ThePreparationIsReportedOnceWhenAllHaveAnswered) {
  part_->answers().AnswerPrepare(3, {1, {}});
  part_->OnLocalPrepared(Step(), {"job", kErrNotFound, "no program"});
  EXPECT_EQ(part_->answers().Unanswered(false), std::vector<uint32_t>{2});
  part_->ReportUp(Step());
  EXPECT_EQ(Count<SendPeer>(), 0u);
  part_->answers().AnswerPrepare(4, {1, {}});
  part_->ReportUp(Step());
  part_->ReportUp(Step());
  const auto sent = Sent<JobPrepared>(out_);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].second.nodes_ready, 2u);
  EXPECT_EQ(sent[0].second.errors[0].text, "no program");
  // A new parent has none of the answers, so they are sent again.
  part_->OnPreparedAgain(Step(), 0);
  part_->ReportUp(Step());
  EXPECT_EQ(Sent<JobPrepared>(out_).size(), 2u);
}

TEST_F(PartTest, APartIsStartedOnce) {
  part_->Start(Step(), 0);
  part_->Start(Step(), 0);
  EXPECT_EQ(Count<StartLocal>(), 1u);
  EXPECT_EQ(Sent<JobStart>(out_).size(), 2u);
  EXPECT_EQ(part_->state(), JobPartState::kStarting);
  part_->answers().AnswerStart(3, {1, {}});
  part_->Advance();
  EXPECT_EQ(part_->state(), JobPartState::kStarting);
  // One error is an answer for all agents.
  part_->OnLocalStarted(Step(), {"job", 1, kErrNotFound, "no"});
  part_->Advance();
  EXPECT_EQ(part_->state(), JobPartState::kRunning);
  part_->ReportUp(Step());
  EXPECT_EQ(Sent<JobStarted>(out_)[0].second.errors.size(), 1u);
}

TEST_F(PartTest, TheRendezvousPortIsReportedAndDistributed) {
  spec_->rendezvous_host = "10.0.0.1";
  part_->OnLocalPrepared(Step(), {"job", 0, "", {}, 4711});
  for (const NodeId n : {3u, 4u}) part_->answers().AnswerPrepare(n, {1, {}});
  part_->ReportUp(Step());
  EXPECT_EQ(Sent<JobPrepared>(out_)[0].second.port, 4711);
  part_->Start(Step(), 4712);
  EXPECT_EQ(All<StartLocal>(out_)[0].port, 4712);
  part_->SyncChildren(Step());
  for (const auto& [to, start] : Sent<JobStart>(out_))
    EXPECT_EQ(start.port, 4712);
}

TEST_F(PartTest, AJobWithARendezvousFailsWithoutItsPort) {
  spec_->rendezvous_host = "10.0.0.1";
  part_->Start(Step(), 0);
  EXPECT_EQ(Count<StartLocal>(), 0u);
  part_->Advance();
  part_->ReportUp(Step());
  ASSERT_EQ(Sent<JobStarted>(out_).size(), 1u);
  EXPECT_EQ(Sent<JobStarted>(out_)[0].second.errors[0].status,
            kErrJobFailedToLaunch);
}

TEST_F(PartTest, ProcessesThatStartAfterAKillAreKilled) {
  part_->Start(Step(), 0);
  part_->Kill(Step(), {"job", {}, 0, ""});
  part_->OnLocalStarted(Step(), {"job", 2, 0, ""});
  const auto kills = All<KillLocal>(out_);
  ASSERT_EQ(kills.size(), 2u);
  EXPECT_EQ(kills[1].grace_ms, 2000u);
}

TEST_F(PartTest, SignalsAreSentTowardsTheirRanks) {
  Running();
  out_.clear();
  part_->Signal(Step(), {"job", 10, {1, 3}});
  EXPECT_EQ(Sent<JobSignal>(out_).size(), 1u);
  EXPECT_EQ(Sent<JobSignal>(out_)[0].first, 4u);
  EXPECT_EQ(All<SignalLocal>(out_)[0].ranks, std::vector<Rank>{1});
  EndHere();
  out_.clear();
  part_->Signal(Step(), {"job", 10, {}});
  EXPECT_EQ(Sent<JobSignal>(out_).size(), 2u);
  EXPECT_EQ(Count<SignalLocal>(), 0u);
}

TEST_F(PartTest, ReleaseWaitsForRunningProcesses) {
  EXPECT_TRUE(part_->Release(Step()));
  Running();
  out_.clear();
  EXPECT_FALSE(part_->Release(Step()));
  EXPECT_FALSE(part_->Release(Step()));
  EXPECT_EQ(Count<KillLocal>(), 1u);
  EXPECT_EQ(part_->state(), JobPartState::kReleasing);
  EndHere();
  EXPECT_FALSE(part_->RunsHere());
  part_->Drop(Step());
  EXPECT_EQ(Count<ForgetLocal>(), 1u);
  EXPECT_EQ(Count<DropJob>(), 1u);
}

TEST_F(PartTest, ALostNodesAnswersAreDroppedAndItsRanksReported) {
  part_->answers().AnswerPrepare(1, {1, {}});
  part_->answers().AnswerPrepare(3, {1, {}});
  tree_.SetAlive(4, false);
  part_->OnNodeLost(Step(), 4);
  EXPECT_TRUE(part_->answers().AllPrepared());
  part_->ReportUp(Step());
  EXPECT_EQ(Sent<NodeLost>(out_)[0].second.ranks, std::vector<Rank>{3});
  EXPECT_TRUE(table_.Find("job")->ranks[3].ended);
}

TEST_F(PartTest, ARestartedParentGetsAllReportsAgain) {
  part_->answers().AnswerPrepare(1, {1, {}});
  part_->answers().AnswerPrepare(3, {1, {}});
  part_->answers().AnswerPrepare(4, {1, {}});
  Running();
  EndHere();
  part_->ReportUp(Step());
  out_.clear();
  part_->OnNodeRestarted(Step(), 0);
  part_->ReportUp(Step());
  EXPECT_EQ(Sent<JobPrepared>(out_).size(), 1u);
  EXPECT_EQ(Sent<JobStarted>(out_).size(), 1u);
  EXPECT_EQ(Sent<JobExits>(out_).size(), 1u);
}

TEST_F(PartTest, ARestartedChildGetsTheJobsState) {
  Running();
  part_->Kill(Step(), {"job", {}, -1, "why"});
  out_.clear();
  part_->OnNodeRestarted(Step(), 3);
  EXPECT_EQ(Sent<JobPrepare>(out_).size(), 1u);
  EXPECT_EQ(Sent<JobStart>(out_).size(), 1u);
  EXPECT_EQ(Sent<JobKill>(out_)[0].second.reason, "why");
}

TEST_F(PartTest, APartWhoseNodeIsLostOnlyForwards) {
  Make({1});
  part_->Begin(Step());
  part_->Prepare(Step());
  part_->Start(Step(), 0);
  EXPECT_FALSE(part_->has_local());
  EXPECT_FALSE(part_->IsIdle());
  EXPECT_EQ(Count<RegisterJob>() + Count<PrepareLocal>(), 0u);
  EXPECT_EQ(Count<StartLocal>() + Count<PersistRecord>(), 0u);
  EXPECT_EQ(Sent<JobStart>(out_).size(), 2u);
  part_->ReportUp(Step());
  EXPECT_EQ(Sent<NodeLost>(out_)[0].second.ranks, (std::vector<Rank>{0, 1}));
}

TEST_F(PartTest, InputIsRequestedFromANewRouteWhenRanksMayRun) {
  spec_->stdin_target = StdinTarget::kAll;
  part_->OnNodeRestarted(Step(), 0);
  EXPECT_EQ(Sent<InputCredit>(out_).size(), 0u);
  Running();
  part_->OnNodeRestarted(Step(), 0);
  ASSERT_EQ(Sent<InputCredit>(out_).size(), 1u);
  EXPECT_TRUE(Sent<InputCredit>(out_)[0].second.resend);
}

TEST_F(PartTest, ASuccessorKeepsTheProcessesOfTheShim) {
  JobRecovered in;
  in.job = spec_;
  in.started = true;
  part_->Recover(false, 0, JobKill{"job", {}, 0, ""});
  part_->RecoverLocal(Step(), in);
  EXPECT_EQ(part_->state(), JobPartState::kStarting);
  EXPECT_EQ(Count<KillLocal>(), 1u);
  EXPECT_EQ(Count<StartLocal>() + Count<PrepareLocal>(), 0u);
}

TEST_F(PartTest, ASuccessorStartsRanksThatWereOnlyPrepared) {
  JobRecovered in;
  in.job = spec_;
  part_->Recover(true, 0, std::nullopt);
  part_->RecoverLocal(Step(), in);
  EXPECT_EQ(Count<StartLocal>(), 1u);
  Make({});
  in.has_shim = false;
  part_->RecoverLocal(Step(), in);
  EXPECT_EQ(Count<PrepareLocal>(), 1u);
}

}  // namespace
}  // namespace canopy::core
