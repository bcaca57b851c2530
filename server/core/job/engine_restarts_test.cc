// Tests of failed processes in jobs that continue: the processes are restarted,
// or the other ranks continue without them.
#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/job/engine_testing.h"
#include "server/core/job/restarts.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

constexpr int kCrash = 11;

std::shared_ptr<JobSpec> Restartable(uint32_t nodes, uint32_t max_restarts) {
  auto job = MakeJob(Agents(0, nodes - 1), 2);
  job->max_restarts = max_restarts;
  return job;
}

void Tick(Cluster& c, NodeId n) {
  c.Do(n, [&](JobEngine& e, const StepContext& step) { e.OnTick(step); });
  c.Run();
}

TEST(EngineRestarts, AFailedProcessIsReplaced) {
  Cluster c(3, 1);
  c.Launch(Restartable(3, 1));
  c.Run();
  c.Exit(4, kCrash, true);
  c.Run();
  ASSERT_EQ(c.Seen<RestartLocal>(2).size(), 1u);
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  EXPECT_EQ(c.Last().procs_ended, 0u);
  ASSERT_EQ(c.Last().ends.size(), 1u);
  EXPECT_TRUE(c.Last().ends[0].restarted);
  EXPECT_EQ(c.Last().ends[0].rank, 4u);
  const auto told = c.Seen<SetIncarnation>(2);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].proc, (ProcId{"job", 4}));
  EXPECT_EQ(told[0].incarnation, 1u);
  // All agents have the incarnation, so that processes on other nodes get the
  // same value.
  for (const NodeId other : {0u, 1u}) {
    ASSERT_EQ(c.Seen<SetIncarnation>(other).size(), 1u) << other;
    EXPECT_EQ(c.Seen<SetIncarnation>(other)[0].incarnation, 1u);
  }
  ExitAll(c, 6);
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kSuccess);
  c.ExpectClean();
}

TEST(EngineRestarts, AFailureAfterTheLastRestartEndsTheJob) {
  Cluster c(2, 2);
  c.Launch(Restartable(2, 2));
  c.Run();
  c.Exit(3, kCrash);
  c.Run();
  c.Exit(3, kCrash);
  c.Run();
  // The second restart waits for the interval.
  EXPECT_EQ(c.Seen<RestartLocal>(1).size(), 1u);
  EXPECT_EQ(c.engine(1).NextDeadline(), c.now + kRestartInterval);
  c.now += kRestartInterval;
  Tick(c, 1);
  EXPECT_EQ(c.Seen<RestartLocal>(1).size(), 2u);
  c.Exit(3, kCrash);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrJobAbortedBySig);
  EXPECT_EQ(c.Last().first_failed, 3u);
  EXPECT_EQ(c.Last().exit_code, 128 + kCrash);
  c.ExpectClean();
}

TEST(EngineRestarts, ARankThatIsRequestedToEndIsNotRestarted) {
  Cluster c(2, 2);
  c.Launch(Restartable(2, 9));
  c.Run();
  c.Exit(2, kCrash);
  c.Run();
  c.Exit(2, kCrash);
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnKillRequested(step, {"job", kErrJobKilledByCmd, "enough"});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnding);
  // The rank that waited for a new process gets none.
  c.now += kRestartInterval;
  Tick(c, 1);
  EXPECT_EQ(c.Seen<RestartLocal>(1).size(), 1u);
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  c.ExpectClean();
}

TEST(EngineRestarts, AnAbortedRankIsNotRestarted) {
  Cluster c(1, 2);
  c.Launch(Restartable(1, 9));
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    AbortMessage abort;
    abort.source = {"job", 0};
    abort.status = 5;
    abort.targets = {{"job", 1}};
    e.OnAbort(step, abort);
  });
  c.Run();
  EXPECT_TRUE(c.Seen<RestartLocal>(0).empty());
  EXPECT_EQ(c.Last().procs_ended, 1u);
  c.Exit(0, 0, true, true);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  c.ExpectClean();
}

// The agent is killed before its ranks end; their ends are reported to the
// successor.
TEST(EngineRestarts, ASuccessorDoesNotRestartKilledRanks) {
  for (const bool all : {false, true}) {
    Cluster c(2, 2);
    c.engine(1).set_persists(true);
    c.Launch(Restartable(2, 9));
    c.Run();
    c.node(1).auto_kill = false;
    c.Do(0, [&](JobEngine& e, const StepContext& step) {
      if (all) {
        return e.OnKillRequested(step, {"job", kErrJobKilledByCmd, "x"});
      }
      e.OnAbort(step, {{"job", 0}, 5, "", {{"job", 3}}});
    });
    c.Run();
    c.Restart(1);
    EXPECT_EQ(c.Seen<KillLocal>(1).size(), 2u) << "again";
    c.Exit(3, SIGTERM);
    c.Run();
    EXPECT_TRUE(c.Seen<RestartLocal>(1).empty()) << all;
  }
}

// Messages may take another route when the tree has changed, and arrive out of
// order.
TEST(EngineRestarts, ALateReportOfAnEarlierRestartIsIgnored) {
  Cluster c(2, 2);
  c.Launch(Restartable(2, 9));
  c.Run();
  for (const uint32_t number : {2u, 1u}) {
    c.Do(0, [&](JobEngine& e, const StepContext& step) {
      e.OnPeer(step, {1, 0, RankRestarted{"job", 3, number}});
    });
  }
  EXPECT_EQ(c.Seen<SetIncarnation>(0).back().incarnation, 2u);
}

TEST(EngineRestarts, ASuccessorRecoversTheNumberOfRestarts) {
  Cluster c(3, 2);
  c.Launch(Restartable(3, 1));
  c.Run();
  c.Exit(3, kCrash);
  c.Run();
  c.Restart(1);
  c.Run();
  EXPECT_EQ(c.node(1).table->Find("job")->ranks[3].incarnation, 1u);
  // A restarted agent gets the incarnations from the others.
  c.Restart(2);
  c.Run();
  EXPECT_EQ(c.node(2).table->Find("job")->ranks[3].incarnation, 1u);
  c.Exit(3, kCrash);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().first_failed, 3u);
}

TEST(EngineRestarts, ARecoverableJobContinuesWithTheOtherRanks) {
  Cluster c(2, 2);
  auto job = MakeJob(Agents(0, 1), 2);
  job->recoverable = true;
  c.Launch(job);
  c.Run();
  c.Exit(1, kCrash, true);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  EXPECT_EQ(c.Last().procs_ended, 1u);
  EXPECT_EQ(c.Last().status, kSuccess);
  for (const Rank rank : {0, 2}) c.Exit(rank, Exited(1));
  c.Exit(3, 0, true, true);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kSuccess);
  EXPECT_EQ(c.Last().exit_code, 0);
  c.ExpectClean();
}

TEST(EngineRestarts, ARecoverableJobFailsIfAllRanksHaveFailed) {
  Cluster c(2, 2);
  auto job = MakeJob(Agents(0, 1), 1);
  job->recoverable = true;
  c.Launch(job);
  c.Run();
  c.Exit(1, Exited(7));
  c.Run();
  c.Exit(0, kCrash);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 7);
  EXPECT_EQ(c.Last().first_failed, 1u);
}

TEST(EngineRestarts, ARecoverableJobOutlivesItsNodes) {
  Cluster c(3, 2);
  auto job = MakeJob(Agents(0, 2), 1);
  job->recoverable = true;
  c.Launch(job);
  c.Run();
  c.LoseNode(2);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  for (const Rank rank : {0, 1}) c.Exit(rank, 0, true, true);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kSuccess);
}

}  // namespace
}  // namespace canopy::core
