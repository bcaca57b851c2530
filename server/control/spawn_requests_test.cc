#include "server/control/spawn_requests.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/ports/input_sink_testing.h"

namespace canopy::control {
namespace {

using core::JobPhase;

const core::HostSpawn kSpawn{{"job", 1}, 5, {}};

class SpawnRequestsTest : public testing::Test {
 protected:
  SpawnRequestsTest() { requests_.set_sink(&sink_); }

  core::JobChanged Change(JobPhase phase, uint32_t started, int status = 0,
                          const std::string& nspace = "child") {
    core::JobChanged change;
    change.nspace = nspace;
    change.phase = phase;
    change.procs_started = started;
    change.status = status;
    return change;
  }
  // Returns true if no spawner is notified because of the change.
  bool ToldNobody(const core::JobChanged& change) {
    return requests_.OnJobChanged(change, 2).empty();
  }
  core::SpawnDone Only() {
    const auto all = sink_.All<core::SpawnDone>();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? core::SpawnDone() : all.front();
  }

  EventLoop loop_;
  RecordingSink sink_;
  SpawnRequests requests_{&loop_};
};

TEST_F(SpawnRequestsTest, ARequestIsAnsweredWhenAllProcessesHaveStarted) {
  requests_.Begin(kSpawn, {"child"}, 0);
  EXPECT_TRUE(ToldNobody(Change(JobPhase::kPreparing, 0)));
  EXPECT_TRUE(ToldNobody(Change(JobPhase::kStarting, 1)));
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_FALSE(ToldNobody(Change(JobPhase::kRunning, 2)));
  EXPECT_EQ(Only().status, kSuccess);
  EXPECT_EQ(Only().nspace, "child");
  EXPECT_EQ(Only().proc, (ProcId{"job", 1}));
  EXPECT_EQ(Only().request, 5u);
  EXPECT_TRUE(ToldNobody(Change(JobPhase::kEnded, 2)));
  EXPECT_EQ(sink_.inputs.size(), 1u);
}

TEST_F(SpawnRequestsTest, AFailureIsAnsweredWhenNoProcessRunsAnyMore) {
  requests_.Begin(kSpawn, {"child"}, 0);
  EXPECT_TRUE(ToldNobody(Change(JobPhase::kEnding, 1, kErrJobExeNotFound)));
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_TRUE(ToldNobody(Change(JobPhase::kEnded, 1, kErrJobExeNotFound)));
  EXPECT_EQ(Only().status, kErrJobExeNotFound);
  EXPECT_EQ(Only().nspace, "");
}

TEST_F(SpawnRequestsTest, AJobThatEndsAtOnceCountsAsStarted) {
  requests_.Begin(kSpawn, {"child"}, 0);
  EXPECT_FALSE(ToldNobody(Change(JobPhase::kEnded, 2, kErrJobNonZeroTerm)));
  EXPECT_EQ(Only().status, kSuccess);
}

TEST_F(SpawnRequestsTest, ALostNodeIsReportedAsAFailureToLaunch) {
  requests_.Begin(kSpawn, {"child"}, 0);
  requests_.OnJobChanged(Change(JobPhase::kEnded, 0, kErrNodeDown), 2);
  EXPECT_EQ(Only().status, kErrJobFailedToLaunch);
}

TEST_F(SpawnRequestsTest, ALimitOfTheSystemIsReportedAsASystemError) {
  requests_.Begin(kSpawn, {"child"}, 0);
  requests_.OnJobChanged(Change(JobPhase::kEnded, 0, kErrSysLimitsFiles), 2);
  EXPECT_EQ(Only().status, kErrJobSysOpFailed);
}

TEST_F(SpawnRequestsTest, AnUnreachableHostIsAFailedAllocation) {
  requests_.Refuse(kSpawn, Status(kErrUnreach, "no node"));
  EXPECT_EQ(Only().status, kErrJobAllocFailed);
}

TEST_F(SpawnRequestsTest, AJobThatDoesNotStartInTimeIsEnded) {
  requests_.Begin(kSpawn, {"child"}, EventLoop::Now() + 10'000'000);
  while (sink_.inputs.empty()) loop_.RunOnce(2000);
  const auto kills = sink_.All<core::KillRequested>();
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].nspace, "child");
  requests_.OnJobChanged(Change(JobPhase::kEnded, 0, kErrJobCanceled), 2);
  EXPECT_EQ(Only().status, kErrTimeout);
}

TEST_F(SpawnRequestsTest, APredecessorsRequestIsAnsweredByTheSuccessor) {
  requests_.Recover({{"job", 1}, 5, {{"child"}}});
  const auto known = sink_.All<core::SpawnRecovered>();
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].request, 5u);
  EXPECT_FALSE(ToldNobody(Change(JobPhase::kRunning, 2)));
  EXPECT_EQ(Only().status, kSuccess);
}

TEST_F(SpawnRequestsTest, TheStartTimeoutContinuesAtTheSuccessor) {
  requests_.Recover({{"job", 1}, 5, {{"child"}}, /*deadline=*/1});
  while (sink_.All<core::KillRequested>().empty()) loop_.RunOnce(2000);
  requests_.OnJobChanged(Change(JobPhase::kEnded, 0, kErrJobCanceled), 2);
  EXPECT_EQ(Only().status, kErrTimeout);
}

TEST_F(SpawnRequestsTest, ARequestWhoseJobIsOverIsAnswered) {
  requests_.Recover({{"job", 1}, 5, {{"child", /*over=*/true}}});
  EXPECT_EQ(Only().nspace, "child");
}

class TwoJobsTest : public SpawnRequestsTest {
 protected:
  using Names = std::vector<std::string>;

  Names Main(JobPhase phase, uint32_t started, int status = 0) {
    return requests_.OnJobChanged(Change(phase, started, status, "main"), 2);
  }
  Names Beside(JobPhase phase, uint32_t started, int status = 0) {
    return requests_.OnJobChanged(Change(phase, started, status, "beside"), 2);
  }
  Names Killed() const {
    Names out;
    for (const auto& kill : sink_.All<core::KillRequested>()) {
      out.push_back(kill.nspace);
    }
    return out;
  }

  const Names both_ = {"main", "beside"};
};

TEST_F(TwoJobsTest, TheRequestIsAnsweredWhenBothJobsHaveStarted) {
  requests_.Begin(kSpawn, both_, 0);
  EXPECT_TRUE(Beside(JobPhase::kRunning, 2).empty());
  EXPECT_TRUE(Main(JobPhase::kStarting, 1).empty());
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_TRUE(requests_.Awaits("beside"));
  EXPECT_EQ(Main(JobPhase::kRunning, 2), both_);
  EXPECT_EQ(Only().nspace, "main");
  EXPECT_EQ(Only().status, kSuccess);
  EXPECT_FALSE(requests_.Awaits("main") || requests_.Awaits("beside"));
  EXPECT_TRUE(Beside(JobPhase::kEnded, 2).empty());
  EXPECT_EQ(sink_.inputs.size(), 1u);
}

TEST_F(TwoJobsTest, AJobThatDoesNotStartEndsItsPartner) {
  requests_.Begin(kSpawn, both_, 0);
  Main(JobPhase::kRunning, 2);
  Beside(JobPhase::kEnded, 0, kErrJobExeNotFound);
  EXPECT_EQ(Killed(), Names{"main"});
  EXPECT_TRUE(sink_.All<core::SpawnDone>().empty());
  EXPECT_TRUE(Main(JobPhase::kEnded, 2, kErrJobCanceled).empty());
  EXPECT_EQ(Only().status, kErrJobExeNotFound);
  EXPECT_EQ(Only().nspace, "");
}

TEST_F(TwoJobsTest, AFailureBeforeThePartnerHasStartedFailsTheRequest) {
  requests_.Begin(kSpawn, both_, 0);
  Main(JobPhase::kEnded, 2, kErrJobNonZeroTerm);
  EXPECT_EQ(Killed(), Names{"beside"});
  EXPECT_TRUE(Beside(JobPhase::kRunning, 2).empty());
  Beside(JobPhase::kEnded, 2, kErrJobCanceled);
  EXPECT_EQ(Only().status, kErrJobFailedToLaunch);
}

TEST_F(TwoJobsTest, AJobThatHasSucceededCountsAsStarted) {
  requests_.Begin(kSpawn, both_, 0);
  EXPECT_TRUE(Main(JobPhase::kEnded, 2).empty());
  EXPECT_TRUE(Killed().empty());
  EXPECT_EQ(Beside(JobPhase::kRunning, 2), both_);
  EXPECT_EQ(Only().nspace, "main");
}

TEST_F(TwoJobsTest, AnIncompleteRequestFails) {
  requests_.Begin(kSpawn, both_, 0);
  Main(JobPhase::kEnded, 2);
  Beside(JobPhase::kEnded, 1, kErrNomem);
  EXPECT_EQ(Only().status, kErrJobSysOpFailed);
}

TEST_F(TwoJobsTest, BothJobsShareOneStartTimeout) {
  requests_.Begin(kSpawn, both_, EventLoop::Now() + 10'000'000);
  Main(JobPhase::kRunning, 2);
  while (sink_.inputs.empty()) loop_.RunOnce(2000);
  EXPECT_EQ(Killed(), (Names{"beside", "main"}));
  Main(JobPhase::kEnded, 2, kErrJobCanceled);
  Beside(JobPhase::kEnded, 1, kErrJobCanceled);
  EXPECT_EQ(Only().status, kErrTimeout);
}

TEST_F(TwoJobsTest, APredecessorsTwoJobsAreAnsweredByTheSuccessor) {
  requests_.Recover({{"job", 1}, 5, {{"main", /*over=*/true}, {"beside"}}});
  EXPECT_EQ(sink_.All<core::SpawnRecovered>().size(), 1u);
  EXPECT_EQ(Beside(JobPhase::kRunning, 2), both_);
  EXPECT_EQ(Only().nspace, "main");
}

TEST_F(TwoJobsTest, ARecoveredRequestWithOneRecordedJobFails) {
  RecoveredRequest request{{"job", 1}, 5, {{"main"}}};
  request.complete = false;
  requests_.Recover(request);
  EXPECT_TRUE(Killed().empty()) << "the core does not have it yet";
  loop_.RunOnce(1000);
  EXPECT_EQ(Killed(), Names{"main"});
  EXPECT_TRUE(Main(JobPhase::kRunning, 2).empty());
  Main(JobPhase::kEnded, 2, kErrJobCanceled);
  EXPECT_EQ(Only().status, kErrJobFailedToLaunch);
}

TEST_F(TwoJobsTest, ARequestWithAnEndedAndAMissingJobFails) {
  RecoveredRequest request{{"job", 1}, 5, {{"main", /*over=*/true}}};
  request.complete = false;
  requests_.Recover(request);
  EXPECT_EQ(Only().status, kErrJobFailedToLaunch);
  EXPECT_EQ(Only().nspace, "");
}

}  // namespace
}  // namespace canopy::control
