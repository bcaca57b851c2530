// Tests of events, aborts and `why`, over simulated agents.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/core/event/lifecycle.h"
#include "server/core/why.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

constexpr size_t kEvent = 4;  // index in MessageBody
constexpr uint8_t kLocal = 2;
constexpr uint8_t kNamespace = 3;
constexpr uint8_t kGlobal = 5;
constexpr uint8_t kCustom = 6;

class EventSim : public testing::Test {
 protected:
  EventSim() : cluster_(7, 2, 5) {
    cluster_.LaunchConnected(MakeJob("job", 7, 2));
    cluster_.LaunchConnected(MakeJob("other", 7, 1));
  }
  ~EventSim() override {
    EXPECT_TRUE(cluster_.errors().empty()) << cluster_.errors().front();
  }

  RequestId Want(const ProcId& proc, std::vector<int> codes) {
    return cluster_.clients().WantEvents(proc, std::move(codes));
  }
  void WantAll(int code) {
    for (Rank r = 0; r < 14; ++r) Want({"job", r}, {code});
    for (Rank r = 0; r < 7; ++r) Want({"other", r}, {code});
    cluster_.Run();
  }
  void Raise(const ProcId& proc, int code, uint8_t range,
             std::vector<ProcId> targets = {}) {
    const RequestId request =
        cluster_.clients().Raise(proc, code, range, std::move(targets));
    cluster_.Run();
    EXPECT_EQ(cluster_.clients().StatusOf(request), kSuccess);
  }
  // Returns the processes that were notified of a code, ascending.
  std::vector<ProcId> NotifiedOf(int code) {
    std::vector<ProcId> out;
    for (const Notice& notice : cluster_.clients().notices()) {
      if (notice.status == code) out.push_back(notice.to);
    }
    std::ranges::sort(out);
    return out;
  }

  Cluster cluster_;
};

TEST_F(EventSim, AnEventOfNamespaceRangeReachesEachProcessOnce) {
  WantAll(-500);
  Raise({"job", 3}, -500, kNamespace);
  const std::vector<ProcId> notified = NotifiedOf(-500);
  // Each process was notified once, except for the source.
  EXPECT_EQ(notified.size(), 13u);
  EXPECT_EQ(std::ranges::count(notified, ProcId{"job", 3}), 0);
  EXPECT_EQ(std::ranges::count(notified, ProcId{"other", 0}), 0);
  EXPECT_EQ(cluster_.observed().messages(kEvent), 6u);
}

TEST_F(EventSim, AnEventOfLocalRangeStaysOnItsNode) {
  WantAll(-500);
  Raise({"job", 3}, -500, kLocal);
  EXPECT_EQ(NotifiedOf(-500), (std::vector<ProcId>{{"job", 2}, {"other", 1}}));
  EXPECT_EQ(cluster_.observed().messages(kEvent), 0u);
}

TEST_F(EventSim, GlobalAndCustomRangesReachTheirProcesses) {
  WantAll(-500);
  Raise({"job", 0}, -500, kGlobal);
  EXPECT_EQ(NotifiedOf(-500).size(), 20u);
  WantAll(-501);
  Raise({"job", 0}, -501, kCustom, {{"job", 13}, {"other", kRankWildcard}});
  EXPECT_EQ(NotifiedOf(-501).size(), 8u);
}

TEST_F(EventSim, OnlyRegisteredProcessesAreNotified) {
  Want({"job", 1}, {-500, -501});
  Want({"job", 2}, {});
  Want({"job", 4}, {-502});
  cluster_.Run();
  Raise({"job", 13}, -500, kNamespace);
  EXPECT_EQ(NotifiedOf(-500), (std::vector<ProcId>{{"job", 1}, {"job", 2}}));
  core::EventsUnwanted out;
  out.client = cluster_.clients().IdOf({"job", 1});
  out.codes = {-501};
  cluster_.Input(0, out);
  Raise({"job", 13}, -501, kNamespace);
  EXPECT_EQ(NotifiedOf(-501), (std::vector<ProcId>{{"job", 2}}));
}

TEST_F(EventSim, ALateRegistrationGetsKeptEventsInOrderAndOnce) {
  Raise({"job", 0}, -500, kNamespace);
  Raise({"job", 0}, -501, kNamespace);
  EXPECT_TRUE(cluster_.clients().notices().empty());
  Want({"job", 9}, {-500, -501});
  cluster_.Run();
  ASSERT_EQ(cluster_.clients().notices().size(), 2u);
  EXPECT_EQ(cluster_.clients().notices()[0].status, -500);
  EXPECT_EQ(cluster_.clients().notices()[1].status, -501);
  Want({"job", 9}, {});
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().notices().size(), 2u);
}

TEST_F(EventSim, EventsSurviveTheLossOfAnAgentOnTheirWay) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Cluster cluster(31, 2, seed);
    std::vector<NodeId> leaves;
    for (NodeId n = 15; n < 31; ++n) leaves.push_back(n);
    cluster.LaunchConnected(MakeJob("job", leaves));
    for (Rank r = 0; r < 16; ++r) {
      cluster.clients().WantEvents({"job", r}, {});
    }
    cluster.Run();
    cluster.clients().Raise({"job", 0}, -500, kNamespace);
    uint64_t steps = cluster.rng()() % 30;
    while (steps-- > 0) cluster.RunOne();
    cluster.KillNode(1 + cluster.rng()() % 14);
    cluster.Run();
    EXPECT_EQ(cluster.clients().notices().size(), 15u) << "seed " << seed;
  }
}

// Every receiver gets each event once, whichever agent is restarted, at any
// step between the call that raises the first event and the end.
class EventRestartSim : public testing::TestWithParam<uint32_t> {};

TEST_P(EventRestartSim, NoEventIsLostOrDeliveredTwice) {
  constexpr NodeId kVictims[] = {0, 1, 3};
  for (const NodeId victim : kVictims) {
    for (size_t step = 0;; ++step) {
      SCOPED_TRACE("restart of " + std::to_string(victim) + " before step " +
                   std::to_string(step));
      Cluster cluster(7, GetParam(), step + 1, Persistence::kOn);
      cluster.LaunchConnected(MakeJob("job", 7, 2));
      for (Rank r = 0; r < 14; ++r) {
        cluster.clients().WantEvents({"job", r}, {});
      }
      cluster.Run();
      cluster.clients().Raise({"job", 2}, -500, kNamespace);
      cluster.clients().Raise({"job", 6}, -501, kGlobal);
      cluster.clients().Raise({"job", 13}, -502, kGlobal);
      cluster.clients().Raise({"job", 6}, -503, kLocal);
      size_t done = 0;
      while (done < step && cluster.RunOne()) ++done;
      const bool over = done < step;
      cluster.RestartNode(victim);
      cluster.RunFor(30'000 * kMs);
      const auto count = [&](int status) {
        return std::ranges::count(cluster.clients().notices(), status,
                                  &Notice::status);
      };
      EXPECT_EQ(count(-500), 13);
      EXPECT_EQ(count(-501), 13);
      EXPECT_EQ(count(-502), 13);
      EXPECT_EQ(count(-503), 1);
      EXPECT_TRUE(cluster.errors().empty()) << cluster.errors().front();
      if (over || HasFailure()) break;
    }
  }
}

TEST_P(EventRestartSim, ALaterRegistrationGetsEventsOfThePredecessor) {
  for (const NodeId victim : {0u, 1u, 3u}) {
    Cluster cluster(7, GetParam(), 1, Persistence::kOn);
    cluster.LaunchConnected(MakeJob("job", 7, 2));
    const Rank here = 2 * victim;
    cluster.clients().Raise({"job", 13}, -500, kGlobal);
    cluster.clients().Raise({"job", here}, -501, kGlobal);
    cluster.clients().Raise({"job", here}, -502, kLocal);
    cluster.Run();
    cluster.RestartNode(victim);
    cluster.RunFor(10'000 * kMs);
    cluster.clients().WantEvents({"job", here + 1}, {});
    cluster.RunFor(10'000 * kMs);
    EXPECT_EQ(cluster.clients().notices().size(), 3u) << "agent " << victim;
  }
}

constexpr int kLifecycle[] = {
    core::kEventJobStart,       core::kEventLaunchComplete,
    core::kEventProcTerminated, core::kErrProcAbortedBySig,
    core::kErrProcKilledByCmd,  kErrJobAbortedBySig,
    core::kEventJobEnd};

// A process of another job, at the far end of the tree, is notified of all
// events in the life of a job that is launched and has a failing process.
class LifecycleSim {
 public:
  // Makes the first process of "watch" register for all codes.
  LifecycleSim(Cluster& cluster, NodeId watcher) : cluster_(cluster) {
    cluster.LaunchConnected(MakeJob("watch", {watcher}));
    cluster.options().announces_jobs = true;
    cluster.clients().WantEvents(
        {"watch", 0}, {std::begin(kLifecycle), std::end(kLifecycle)});
    cluster.Run();
  }
  // Launches six processes, of which rank 3 crashes after a while.
  void Launch(const std::vector<NodeId>& nodes) {
    cluster_.hooks().on_start = [this](const ProcId& proc) {
      if (proc != ProcId{"job", 3}) return;
      cluster_.At(cluster_.now() + 500 * kMs, [this] {
        cluster_.shims().Exit({"job", 3}, 11);
      });
    };
    cluster_.BeginLaunch(MakeJob("job", nodes));
  }
  // Runs up to `steps` steps. Returns true if there were fewer.
  bool Play(size_t steps) {
    size_t done = 0;
    while (done < steps && cluster_.RunNext(cluster_.now() + 600 * kMs)) ++done;
    return done < steps;
  }
  void ExpectEachOnce() const {
    EXPECT_EQ(Count(core::kEventJobStart), 1);
    EXPECT_EQ(Count(core::kEventLaunchComplete), 1);
    EXPECT_EQ(Count(core::kEventProcTerminated), 6);
    EXPECT_EQ(Count(core::kErrProcAbortedBySig), 1);
    EXPECT_EQ(Count(core::kErrProcKilledByCmd), 5);
    EXPECT_EQ(Count(kErrJobAbortedBySig), 1);
    EXPECT_EQ(Count(core::kEventJobEnd), 1);
    EXPECT_TRUE(cluster_.errors().empty()) << cluster_.errors().front();
  }

 private:
  long Count(int status) const {
    return std::ranges::count_if(
        cluster_.clients().notices(), [&](const Notice& notice) {
          return notice.source.nspace == "job" && notice.status == status;
        });
  }

  Cluster& cluster_;
};

TEST_P(EventRestartSim, NoLifecycleEventIsLostOrDeliveredTwice) {
  for (NodeId victim = 0; victim < 7; ++victim) {
    for (size_t step = 0;; ++step) {
      SCOPED_TRACE("restart of " + std::to_string(victim) + " before step " +
                   std::to_string(step));
      Cluster cluster(7, GetParam(), step + 1, Persistence::kOn);
      LifecycleSim life(cluster, 6);
      life.Launch({0, 1, 2, 3, 4, 5});
      const bool over = life.Play(step);
      cluster.RestartNode(victim);
      cluster.RunFor(60'000 * kMs);
      life.ExpectEachOnce();
      if (over || HasFailure()) break;
    }
  }
}

// Agents are lost between the job's agents, its controller and the registered
// process.
TEST_F(EventSim, LifecycleEventsAreDeliveredOnceDespiteLosses) {
  for (uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Cluster cluster(15, 2, seed);
    LifecycleSim life(cluster, 14);
    life.Launch({7, 8, 9, 10, 11, 12});
    for (int losses = 0; losses < 2; ++losses) {
      life.Play(cluster.rng()() % 150);
      cluster.KillNode(1 + cluster.rng()() % 6);
    }
    cluster.RunFor(60'000 * kMs);
    life.ExpectEachOnce();
  }
}

TEST_P(EventRestartSim, ARegistrationAfterTheEndGetsTheEvent) {
  Cluster cluster(7, GetParam(), 1, Persistence::kOn);
  cluster.LaunchConnected(MakeJob("watch", {6}));
  cluster.options().announces_jobs = true;
  const uint64_t before = cluster.observed().messages(kEvent);
  cluster.Launch(MakeJob("job", {0, 1, 2, 3, 4, 5}));
  for (Rank rank = 0; rank < 6; ++rank) cluster.shims().Exit({"job", rank}, 0);
  cluster.RunFor(10'000 * kMs);
  // No process has registered, so no message is sent.
  EXPECT_EQ(cluster.observed().messages(kEvent), before);
  cluster.clients().WantEvents({"watch", 0}, {core::kEventJobEnd});
  cluster.RunFor(1'000 * kMs);
  ASSERT_EQ(cluster.clients().notices().size(), 1u);
  EXPECT_EQ(cluster.clients().notices()[0].source,
            (ProcId{"job", kRankWildcard}));
  // The messages belong to the registration, and to the event on its way from
  // the root.
  EXPECT_LE(cluster.observed().messages(kEvent) - before, 6u + 2u);
}

// Every agent announces losses to its own clients. A process that registers
// with a successor is notified as well, and a process that was notified is not
// notified again.
TEST_P(EventRestartSim, ALossIsAnnouncedOnceAlsoAfterARestart) {
  Cluster cluster(7, GetParam(), 1, Persistence::kOn);
  cluster.options().ignore_kills = true;
  JobSpec job = MakeJob("job", 7, 2);
  job.recoverable = true;
  cluster.LaunchConnected(job);
  const std::vector<int> codes = {kErrProcAborted, core::kEventNodeDown};
  cluster.clients().WantEvents({"job", 2}, codes);
  cluster.Run();
  cluster.KillNode(6);
  cluster.RunFor(10'000 * kMs);
  cluster.RestartNode(1);
  cluster.RunFor(10'000 * kMs);
  cluster.clients().WantEvents({"job", 3}, codes);
  cluster.RunFor(10'000 * kMs);
  const auto count = [&](Rank rank, int status) {
    return std::ranges::count_if(
        cluster.clients().notices(), [&](const Notice& notice) {
          return notice.to.rank == rank && notice.status == status;
        });
  };
  for (const Rank rank : {2u, 3u}) {
    EXPECT_EQ(count(rank, kErrProcAborted), 2);
    EXPECT_EQ(count(rank, core::kEventNodeDown), 1);
  }
}

TEST_P(EventRestartSim, TheEndOfAProcessIsAnnouncedOnceDespiteARestart) {
  for (size_t step = 0;; ++step) {
    SCOPED_TRACE("restart before step " + std::to_string(step));
    Cluster cluster(7, GetParam(), step + 1, Persistence::kOn);
    cluster.options().ignore_kills = true;
    cluster.LaunchConnected(MakeJob("job", 7, 2));
    for (Rank r = 0; r < 14; ++r) {
      cluster.clients().WantEvents({"job", r}, {kErrProcAborted});
    }
    cluster.Run();
    cluster.shims().Exit({"job", 5}, 11);
    size_t done = 0;
    while (done < step && cluster.RunOne()) ++done;
    const bool over = done < step;
    cluster.RestartNode(2);
    cluster.RunFor(1'000 * kMs);
    EXPECT_EQ(cluster.clients().notices().size(), 13u);
    if (over || HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Radix, EventRestartSim, testing::Values(2u, 32u),
                         [](const auto& info) {
                           return "Radix" + std::to_string(info.param);
                         });

TEST_F(EventSim, TheDeathOfAProcessRaisesAnEventForItsJob) {
  cluster_.options().ignore_kills = true;
  WantAll(kErrProcAborted);
  cluster_.shims().Exit({"job", 5}, 11);
  cluster_.Run();
  const std::vector<ProcId> notified = NotifiedOf(kErrProcAborted);
  EXPECT_EQ(notified.size(), 13u);
  EXPECT_EQ(cluster_.clients().notices().front().source, (ProcId{"job", 5}));
}

TEST_F(EventSim, AnOrderlyEndRaisesNoEvent) {
  for (Rank r = 0; r < 14; ++r) Want({"job", r}, {});
  cluster_.Input(2, core::FinalizeArrived{cluster_.clients().IdOf({"job", 5}),
                                          cluster_.clients().NewRequest()});
  cluster_.Run();
  cluster_.shims().Exit({"job", 5}, 0);
  cluster_.Run();
  EXPECT_TRUE(cluster_.clients().notices().empty());
}

TEST_F(EventSim, TheLossOfANodeRaisesAnEventForEachOfItsRanks) {
  cluster_.options().ignore_kills = true;
  WantAll(kErrProcAborted);
  cluster_.KillNode(6);
  cluster_.Run();
  // The root's clients are notified before the failure policy ends their jobs.
  const std::vector<ProcId> notified = NotifiedOf(kErrProcAborted);
  EXPECT_EQ(std::ranges::count(notified, ProcId{"job", 0}), 2);
  EXPECT_EQ(std::ranges::count(notified, ProcId{"other", 0}), 1);
}

TEST_F(EventSim, TheEndOfAConnectedProcessRaisesAnEventForTheOthers) {
  const std::vector<ProcId> both = {{"job", 3}, {"other", 6}};
  for (const ProcId& p : both) {
    cluster_.clients().Collective(core::CollectiveOp::kConnect, p, both);
  }
  Want({"other", 6}, {kErrProcTermWoSync});
  Want({"other", 5}, {kErrProcTermWoSync});
  cluster_.Input(1, core::FinalizeArrived{cluster_.clients().IdOf({"job", 3}),
                                          cluster_.clients().NewRequest()});
  cluster_.Run();
  cluster_.shims().Exit({"job", 3}, 0);
  cluster_.Run();
  EXPECT_EQ(NotifiedOf(kErrProcTermWoSync),
            (std::vector<ProcId>{{"other", 6}}));
}

// The exits that follow from the end of a job cause no events of their own.
TEST_F(EventSim, TheEndOfAJobCausesFewEvents) {
  for (Rank r = 0; r < 14; ++r) Want({"job", r}, {});
  cluster_.Run();
  cluster_.shims().Exit({"job", 13}, 11);
  cluster_.Run();
  EXPECT_LE(cluster_.clients().notices().size(), 13u);
  EXPECT_LE(cluster_.observed().messages(kEvent), 6u);
}

core::AbortArrived Abort(Cluster& cluster, const ProcId& proc) {
  core::AbortArrived in;
  in.client = cluster.clients().IdOf(proc);
  in.request = cluster.clients().NewRequest();
  in.status = 7;
  in.text = "enough";
  return in;
}

TEST_F(EventSim, AnAbortOfTheWholeJobEndsIt) {
  const core::AbortArrived in = Abort(cluster_, {"job", 11});
  cluster_.Input(5, in);
  cluster_.RunFor(100'000 * kMs);
  // The caller is a target, so it gets no reply.
  EXPECT_EQ(cluster_.clients().StatusOf(in.request), kUnanswered);
  const auto last = std::ranges::find_if(
      cluster_.launchers().job_changes(), [](const core::JobChanged& change) {
        return change.nspace == "job" && change.phase == core::JobPhase::kEnded;
      });
  ASSERT_NE(last, cluster_.launchers().job_changes().end());
  EXPECT_EQ(last->exit_code, 7);
  EXPECT_NE(last->text.find("enough"), std::string::npos);
}

TEST_F(EventSim, AnAbortOfAnotherProcessIsAnswered) {
  core::AbortArrived in = Abort(cluster_, {"job", 11});
  in.targets = {{"job", 3}};
  cluster_.Input(5, in);
  EXPECT_EQ(cluster_.clients().StatusOf(in.request), kUnanswered);
  cluster_.RunFor(100'000 * kMs);
  EXPECT_EQ(cluster_.clients().StatusOf(in.request), kSuccess);
}

TEST(AbortSim, AbortsAreLimitedToJobsOfTheSameUser) {
  Cluster cluster(1, 2, 1);
  JobSpec mine = MakeJob("mine", 1, 1);
  mine.uid = 1000;
  JobSpec yours = MakeJob("yours", 1, 1);
  yours.uid = 1001;
  cluster.LaunchConnected(mine);
  cluster.LaunchConnected(yours);
  core::AbortArrived in = Abort(cluster, {"mine", 0});
  in.targets = {{"yours", 0}};
  cluster.Input(0, in);
  cluster.Run();
  EXPECT_EQ(cluster.clients().StatusOf(in.request), kErrParamValueNotSupported);
}

// ------------------------------------------------------------------- why ---

std::vector<core::Waiting> Why(Cluster& cluster, NodeId at) {
  const size_t before = cluster.observed().states().size();
  cluster.Input(at, core::StateRequested{1, "why", ""});
  cluster.RunFor(5'000 * kMs);
  std::vector<core::StateAnswer> answers;
  for (size_t i = before; i < cluster.observed().states().size(); ++i) {
    const core::StateCollected& state = cluster.observed().states()[i];
    if (state.done) continue;
    auto answer = core::DecodeStateAnswer(state.answer.view());
    EXPECT_TRUE(answer.ok());
    if (answer.ok()) answers.push_back(*answer);
  }
  EXPECT_TRUE(cluster.observed().states().back().done);
  return core::MergeWaiting(answers);
}

TEST(WhySim, NamesExactlyTheMissingProcesses) {
  Cluster cluster(15, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 15, 2));
  // The missing processes are both ranks of agent 13 and one of agent 4.
  for (Rank r = 0; r < 30; ++r) {
    if (r != 26 && r != 27 && r != 9) cluster.clients().Fence({"job", r});
  }
  cluster.RunFor(2'000 * kMs);
  const std::vector<core::Waiting> why = Why(cluster, 0);
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].operation, "fence #0 of job:*");
  EXPECT_EQ(why[0].nspace, "job");
  EXPECT_EQ(why[0].callers, 27u);
  EXPECT_GE(why[0].age_ms, 1990u);
  std::vector<Rank> missing;
  for (const core::MissingProc& m : why[0].missing) {
    missing.push_back(m.proc.rank);
  }
  EXPECT_EQ(missing, (std::vector<Rank>{9, 26, 27}));
}

TEST(WhySim, NamesWaitingGets) {
  Cluster cluster(3, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 3, 1));
  core::GetArrived get;
  get.target = {"job", 2};
  get.key = "k";
  cluster.clients().Get({"job", 0}, get);
  cluster.clients().Get({"job", 1}, get);
  cluster.Run();
  const std::vector<core::Waiting> why = Why(cluster, 1);
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].operation, "get of key 'k' of job:2");
  EXPECT_EQ(why[0].callers, 2u);
  ASSERT_EQ(why[0].missing.size(), 1u);
  EXPECT_EQ(why[0].missing[0].node, 2u);
}

TEST(WhySim, TheAnswerIsEmptyIfNoOperationWaits) {
  Cluster cluster(3, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 3, 1));
  for (Rank r = 0; r < 3; ++r) cluster.clients().Fence({"job", r});
  cluster.Run();
  EXPECT_TRUE(Why(cluster, 0).empty());
}

TEST(WhySim, ASilentAgentDoesNotDelayTheOthers) {
  Cluster cluster(3, 2, 1);
  cluster.options().max_delay = 1;
  cluster.Input(0, core::StateRequested{4, "status", ""});
  cluster.RunOne();
  cluster.options().max_delay = 1'000'000 * kMs;
  cluster.RunFor(4'000 * kMs);
  ASSERT_FALSE(cluster.observed().states().empty());
  EXPECT_TRUE(cluster.observed().states().back().done);
  EXPECT_EQ(cluster.observed().states().back().request, 4u);
}

}  // namespace
}  // namespace canopy::sim
