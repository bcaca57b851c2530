#include "server/core/job/engine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/status.h"
#include "server/core/job/engine_testing.h"

namespace canopy::core {
namespace {

TEST(JobEngine, AJobOnOneNodeNeedsNoMessages) {
  Cluster c(4, 2);
  c.Launch(MakeJob({0}, 3));
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  EXPECT_EQ(c.Last().procs_started, 3u);
  ExitAll(c, 3);
  EXPECT_EQ(c.messages, 0);
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 0);
  EXPECT_EQ(c.Last().status, kSuccess);
  EXPECT_EQ(c.Last().text, "");
  c.ExpectClean();
}

TEST(JobEngine, AJobRunsOnATreeOfAnyRadix) {
  for (const uint32_t radix : {2u, 3u, 32u}) {
    Cluster c(9, radix);
    c.Launch(MakeJob(Agents(0, 8), 2));
    c.Run();
    EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
    EXPECT_EQ(c.Last().nodes_ready, 9u);
    EXPECT_EQ(c.Last().procs_started, 18u);
    ExitAll(c, 18);
    EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
    EXPECT_EQ(c.Last().exit_code, 0);
    EXPECT_EQ(c.Last().procs_ended, 18u);
    c.ExpectClean();
  }
}

TEST(JobEngine, AJobInvolvesOnlyAgentsOnTheRoute) {
  Cluster c(7, 2);
  c.Launch(MakeJob({5}, 1));  // the path is 0 - 2 - 5
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  for (const NodeId other : {1u, 3u, 4u, 6u}) {
    EXPECT_TRUE(c.node(other).seen.empty()) << other;
  }
  EXPECT_TRUE(c.Seen<RegisterJob>(0).empty());
  EXPECT_TRUE(c.Seen<RegisterJob>(2).empty());
  EXPECT_NE(c.node(2).table->Find("job"), nullptr);
  EXPECT_EQ(c.Seen<RegisterJob>(5).size(), 1u);
  ExitAll(c, 1);
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  c.ExpectClean();
}

TEST(JobEngine, JobIsRegisteredBeforeItIsPrepared) {
  Cluster c(2, 2);
  c.Launch(MakeJob({1}, 1));
  c.Run();
  const Actions& seen = c.node(1).seen;
  EXPECT_TRUE(std::holds_alternative<RegisterJob>(seen[0]));
  EXPECT_TRUE(std::holds_alternative<PrepareLocal>(seen[1]));
}

TEST(JobEngine, PrepareErrorEndsTheJobEverywhere) {
  Cluster c(5, 2);
  c.node(3).prepare_status = kErrJobExeNotFound;
  c.node(3).prepare_text = "no program ./a in /work";
  c.Launch(MakeJob(Agents(0, 4), 2));
  c.Run();
  const JobChanged last = c.Last();
  EXPECT_EQ(last.phase, JobPhase::kEnded);
  EXPECT_EQ(last.status, kErrJobExeNotFound);
  EXPECT_EQ(last.exit_code, 1);
  EXPECT_EQ(last.text, "node3: no program ./a in /work");
  for (NodeId n = 0; n < 5; ++n) EXPECT_TRUE(c.Seen<StartLocal>(n).empty());
  c.ExpectClean();
}

TEST(JobEngine, ThePrepareErrorsOfAllNodesAreCounted) {
  Cluster c(5, 2);
  for (const NodeId n : {1u, 3u, 4u}) {
    c.node(n).prepare_status = kErrJobWdirNotFound;
    c.node(n).prepare_text = "no directory /x";
  }
  c.Launch(MakeJob({1, 3, 4}, 1));
  c.Run();
  EXPECT_EQ(c.Last().status, kErrJobWdirNotFound);
  EXPECT_EQ(c.Last().text,
            "node1: no directory /x (and 2 more nodes with errors)");
  c.ExpectClean();
}

TEST(JobEngine, ALocalPrepareErrorAtTheRootEndsTheJob) {
  Cluster c(1, 2);
  c.node(0).prepare_status = kErrJobAppNotExecutable;
  c.node(0).prepare_text = "./a is not executable on node0";
  c.Launch(MakeJob({0}, 2));
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().text, "./a is not executable on node0");
  c.ExpectClean();
}

TEST(JobEngine, AStartErrorKillsTheRunningProcesses) {
  Cluster c(3, 2);
  c.node(2).auto_start = false;
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kStarting);
  // Only one of the node's two processes has started.
  c.node(2).alive = {4};
  c.Do(2, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalStarted(step, {"job", 1, kErrProcFailedToStart, "no memory"});
  });
  c.node(2).alive.insert(5);
  c.Exit(5, Exited(127));
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrProcFailedToStart);
  EXPECT_EQ(c.Last().text, "node2: no memory");
  EXPECT_EQ(c.Last().procs_ended, 6u);
  c.ExpectClean();
}

// The start error is the cause, so it must be reported before the exit that
// follows from it, even if another node is slow.
TEST(JobEngine, AStartErrorIsReportedWithoutWaitingForOtherNodes) {
  Cluster c(7, 2);
  c.node(2).auto_start = false;
  c.node(5).auto_start = false;
  c.Launch(MakeJob(Agents(0, 6), 1));
  c.Run();
  c.node(5).alive = {5};
  c.Do(5, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalStarted(step, {"job", 1, kErrProcFailedToStart, "no memory"});
  });
  c.Exit(5, Exited(127));
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnding);
  EXPECT_EQ(c.Last().text, "node5: no memory");
  c.node(2).alive = {2};
  c.Do(2, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalStarted(step, {"job", 1, 0, ""});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrProcFailedToStart);
  c.ExpectClean();
}

TEST(JobEngine, AStartErrorWithoutAProcessEndsTheJob) {
  Cluster c(1, 2);
  c.node(0).auto_start = false;
  c.Launch(MakeJob({0}, 4));
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalStarted(step, {"job", 0, kErrSysLimitsFiles, "too few files"});
  });
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrSysLimitsFiles);
  c.ExpectClean();
}

TEST(JobEngine, TheFirstFailingRankGivesTheExitCode) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  c.Exit(3, Exited(7));
  c.Run();
  const JobChanged last = c.Last();
  EXPECT_EQ(last.phase, JobPhase::kEnded);
  EXPECT_EQ(last.exit_code, 7);
  EXPECT_EQ(last.status, kErrJobNonZeroTerm);
  EXPECT_EQ(last.first_failed, 3u);
  EXPECT_EQ(last.text, "rank 3 on node1 exited with code 7");
  for (NodeId n = 0; n < 3; ++n) EXPECT_FALSE(c.Seen<KillLocal>(n).empty());
  EXPECT_EQ(c.Seen<KillLocal>(0)[0].grace_ms, 2000u);
  c.ExpectClean();
}

TEST(JobEngine, AFatalSignalGivesTheExitCode128PlusItsNumber) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  c.Do(2, [&](JobEngine& e, const StepContext& step) {
    c.node(2).alive.erase(5);
    e.OnLocalExits(step, {"job", {{5, SIGSEGV, true, true, false}}});
  });
  c.Do(2, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalOutput(step, {"job", 5, 2, Bytes()});
    e.OnLocalOutput(step, {"job", 5, 4, Bytes()});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 128 + SIGSEGV);
  EXPECT_EQ(c.Last().status, kErrJobAbortedBySig);
  EXPECT_EQ(c.Last().text,
            "rank 5 on node2 was killed by signal 11 (Segmentation fault), "
            "core dumped");
  c.ExpectClean();
}

TEST(JobEngine, TheEndOfAConnectedRankWithoutFinalizeIsAFailure) {
  Cluster c(1, 2);
  c.Launch(MakeJob({0}, 2));
  c.Exit(1, 0, true, false);
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrProcTermWoSync);
  EXPECT_EQ(c.Last().exit_code, 1);
  EXPECT_EQ(c.Last().first_failed, 1u);
  c.ExpectClean();
}

TEST(JobEngine, ProcessesThatNeverInitialiseMayEndNormally) {
  Cluster c(1, 2);
  c.Launch(MakeJob({0}, 2));
  c.Exit(0, 0);
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  c.Exit(1, 0);
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 0);
}

TEST(JobEngine, TheTimeLimitEndsTheJob) {
  Cluster c(3, 2);
  auto job = MakeJob(Agents(0, 2), 1);
  job->timeout_seconds = 10;
  c.Launch(job);
  c.Run();
  c.Exit(1, 0);
  c.Run();
  EXPECT_EQ(c.engine(0).NextDeadline(), 1000 + 10 * kSecond);
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnTick({1000 + 9 * kSecond, step.out});
  });
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  EXPECT_FALSE(c.Last().out_of_time);
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnTick({1000 + 10 * kSecond, step.out});
  });
  // The launcher does not report the operations for which the job waits.
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  EXPECT_TRUE(c.Last().out_of_time);
  EXPECT_EQ(c.engine(0).NextDeadline(), 1000 + 40 * kSecond);
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnTick({1000 + 40 * kSecond, step.out});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrTimeout);
  EXPECT_EQ(c.Last().exit_code, 110);
  EXPECT_EQ(c.Last().text,
            "the job ran into its time limit of 10 seconds; ranks 0,2 had not "
            "ended");
  c.ExpectClean();
}

TEST(JobEngine, TheEndAtATimeLimitNamesTheWaitingOperation) {
  Cluster c(2, 2);
  auto job = MakeJob(Agents(0, 1), 1);
  job->timeout_seconds = 10;
  c.Launch(job);
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnTick({1000 + 10 * kSecond, step.out});
  });
  EXPECT_TRUE(c.Last().out_of_time);
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnKillRequested(step, {"job", kErrTimeout, "a fence waits"});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_FALSE(c.Last().out_of_time);
  EXPECT_EQ(c.Last().exit_code, 110);
  EXPECT_EQ(c.Last().text,
            "the job ran into its time limit of 10 seconds; ranks 0-1 had not "
            "ended; a fence waits");
  c.ExpectClean();
}

TEST(JobEngine, AKillRequestEndsARunningJob) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnKillRequested(step, {"job", 0, "the caller went away"});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrJobKilledByCmd);
  EXPECT_EQ(c.Last().exit_code, 143);
  EXPECT_EQ(c.Last().text, "the caller went away");
  c.ExpectClean();
}

TEST(JobEngine, ASecondKillRequestSendsSigkillAtOnce) {
  Cluster c(2, 2);
  c.node(1).auto_kill = false;
  c.Launch(MakeJob({1}, 2));
  c.Run();
  for (int i = 0; i < 2; ++i) {
    c.Do(0, [&](JobEngine& e, const StepContext& step) {
      e.OnKillRequested(step, {"job", 0, ""});
    });
    c.Run();
  }
  EXPECT_EQ(c.Seen<KillLocal>(1).size(), 1u);
  ASSERT_EQ(c.Seen<SignalLocal>(1).size(), 1u);
  EXPECT_EQ(c.Seen<SignalLocal>(1)[0].signal, SIGKILL);
}

TEST(JobEngine, AnImmediateKillRequestSendsSigkill) {
  Cluster c(2, 2);
  c.node(1).auto_kill = false;
  c.Launch(MakeJob({1}, 2));
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnKillRequested(step, {"job", 0, "now", true});
  });
  c.Run();
  ASSERT_EQ(c.Seen<SignalLocal>(1).size(), 1u);
  EXPECT_EQ(c.Seen<SignalLocal>(1)[0].signal, SIGKILL);
}

TEST(JobEngine, AKillRequestEndsAJobInPreparation) {
  Cluster c(3, 2);
  c.node(2).auto_prepare = false;
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kPreparing);
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnKillRequested(step, {"job", kErrJobCanceled, "interrupted"});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrJobCanceled);
  c.ExpectClean();
  // A late answer to the preparation has no effect.
  c.Do(2, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalPrepared(step, {"job", 0, ""});
  });
  EXPECT_TRUE(c.Seen<StartLocal>(2).empty());
}

TEST(JobEngine, AKillDuringTheStartReachesProcessesThatStartLater) {
  Cluster c(2, 2);
  c.node(1).auto_start = false;
  c.Launch(MakeJob({0, 1}, 1));
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnKillRequested(step, {"job", 0, ""});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnding);
  c.node(1).alive = {1};
  c.Do(1, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalStarted(step, {"job", 1, 0, ""});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  c.ExpectClean();
}

TEST(JobEngine, ASignalReachesOnlyTheNamedRanks) {
  Cluster c(4, 2);
  c.Launch(MakeJob(Agents(0, 3), 2));
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnSignalRequested(step, {"job", SIGUSR1, {1, 7}});
  });
  c.Run();
  ASSERT_EQ(c.Seen<SignalLocal>(0).size(), 1u);
  EXPECT_EQ(c.Seen<SignalLocal>(0)[0].ranks, std::vector<Rank>{1});
  EXPECT_TRUE(c.Seen<SignalLocal>(1).empty());
  EXPECT_TRUE(c.Seen<SignalLocal>(2).empty());
  ASSERT_EQ(c.Seen<SignalLocal>(3).size(), 1u);
  EXPECT_EQ(c.Seen<SignalLocal>(3)[0].ranks, std::vector<Rank>{7});
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnSignalRequested(step, {"job", SIGUSR2, {}});
  });
  c.Run();
  for (NodeId n = 0; n < 4; ++n) {
    EXPECT_EQ(c.Seen<SignalLocal>(n).back().signal, SIGUSR2);
    EXPECT_TRUE(c.Seen<SignalLocal>(n).back().ranks.empty());
  }
}

TEST(JobEngine, AnAbortWithoutTargetsEndsTheWholeJob) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnAbort(step, {{"job", 2}, 9, "matrix is\nsingular\n", {}});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 9);
  EXPECT_EQ(c.Last().status, kErrJobAborted);
  EXPECT_EQ(c.Last().first_failed, 2u);
  EXPECT_EQ(c.Last().text,
            "rank 2 on node1 called abort with status 9: matrix is singular");
  c.ExpectClean();
}

TEST(JobEngine, TheReasonOfAnAbortOmitsAnEmptyText) {
  // Open MPI passes "N/A" if a program calls MPI_Abort.
  for (const char* text : {"", "N/A"}) {
    Cluster c(1, 2);
    c.Launch(MakeJob({0}, 1));
    c.Do(0, [&](JobEngine& e, const StepContext& step) {
      e.OnAbort(step, {{"job", 0}, 7, text, {{"job", kRankWildcard}}});
    });
    EXPECT_EQ(c.Last().text, "rank 0 on node0 called abort with status 7");
  }
}

TEST(JobEngine, AnAbortStatusOutsideExitCodesGivesExitCodeOne) {
  for (const int status : {-25, 0, 256, 1 << 20}) {
    Cluster c(1, 2);
    c.Launch(MakeJob({0}, 1));
    c.Do(0, [&](JobEngine& e, const StepContext& step) {
      e.OnAbort(step, {{"job", 0}, status, "", {{"job", kRankWildcard}}});
    });
    EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
    EXPECT_EQ(c.Last().exit_code, 1) << status;
  }
}

TEST(JobEngine, AnAbortOfSomeRanksDoesNotEndTheOthers) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnAbort(step, {{"job", 0}, 5, "", {{"job", 1}, {"job", 4}}});
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  EXPECT_EQ(c.Last().procs_ended, 2u);
  for (const Rank rank : {0u, 2u, 3u, 5u}) c.Exit(rank, 0);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 5);
  c.ExpectClean();
}

TEST(JobEngine, AFailureAfterAPartialAbortEndsTheRest) {
  Cluster c(1, 2);
  c.Launch(MakeJob({0}, 4));
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnAbort(step, {{"job", 0}, 5, "", {{"job", 1}}});
  });
  c.Exit(2, Exited(8));
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 5);
  c.ExpectClean();
}

TEST(JobEngine, ALaunchThatCannotBeginEndsTheJobAtOnce) {
  Cluster c(3, 2);
  c.LoseNode(2);
  c.Launch(MakeJob(Agents(0, 2), 1));
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrNodeDown);
  EXPECT_EQ(c.Last().text, "no agent is up on node node2");
  EXPECT_TRUE(c.network_.empty());
  c.Do(1, [&](JobEngine& e, const StepContext& step) {
    e.OnLaunchRequested(step, {MakeJob({1}, 1)});
  });
  ASSERT_EQ(c.Seen<JobChanged>(1).size(), 1u);
  EXPECT_EQ(c.Seen<JobChanged>(1)[0].status, kErrNotSupported);
}

TEST(JobEngine, MalformedMessagesOfPeersAreIgnored) {
  Cluster c(2, 2);
  c.Launch(MakeJob({0, 1}, 1));
  c.Run();
  const size_t before = c.Seen<JobChanged>(0).size();
  const std::vector<MessageBody> bodies = {
      JobPrepare{Bytes("garbage"), 0, {}},
      JobExits{"job", {{99, 0, false, false, false}}},
      JobSignal{"job", 1, {77}},
      OutputData{"job", 99, 2, Bytes("x")},
      OutputCredit{"other", 5},
      InputCredit{"job", 1000000},
      InputData{"job", {55}, Bytes("x")},
      JobForget{"job"},
      JobQueryReply{"job", JobVerdict::kNoRecord},
      JobPrepare{Bytes(EncodeJobSpec(*MakeJob({0, 1}, 1))), 2, {}},
      NodeLost{"job", {99}},
      JobKill{"job", {}, 0, ""},
      JobStarted{"other", 3, {}},
  };
  for (const MessageBody& body : bodies) {
    c.Do(0, [&](JobEngine& e, const StepContext& step) {
      EXPECT_TRUE(e.OnPeer(step, {1, 0, body}));
    });
  }
  EXPECT_EQ(c.Seen<JobChanged>(0).size(), before);
  c.network_.clear();
  Actions none;
  EXPECT_FALSE(c.engine(0).OnPeer({c.now, none}, {1, 0, StateQuery{}}));
  ExitAll(c, 2);
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 0);
}

}  // namespace
}  // namespace canopy::core
