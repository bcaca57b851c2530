// Tests of PMIx_Spawn: each request either becomes one job and is answered
// once, or is answered with an error and none of its processes runs, whichever
// agent is restarted or lost meanwhile.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

constexpr uint32_t kNodes = 7;
constexpr NodeId kController = 0;
constexpr NodeId kInterior = 2;  // above 5 and 6 at radix 2
constexpr NodeId kLeaf = 5;

struct Spawning {
  Spawning(uint32_t radix, uint64_t seed, Persistence persistence)
      : cluster(kNodes, radix, seed, persistence) {
    cluster.LaunchConnected(MakeJob("job", kNodes, 1));
    request = cluster.clients().Spawn(spawner, SpawnCallFor({1, 5, 6}));
  }

  // Runs until all waits are over, including waits with time limits.
  void Settle() { cluster.RunFor(60'000 * kMs); }

  void EndAll() {
    for (NodeId node = 0; node < kNodes; ++node) {
      for (const ProcId& proc : cluster.shims().RunningOn(node)) {
        cluster.shims().Exit(proc, 0);
      }
    }
    Settle();
  }

  void ExpectClean() {
    EndAll();
    for (const std::string& left : cluster.Leftovers()) ADD_FAILURE() << left;
    for (const std::string& error : cluster.errors()) ADD_FAILURE() << error;
  }

  const ProcId spawner{"job", kLeaf};
  Cluster cluster;
  RequestId request = 0;
};

class SpawnSim : public testing::TestWithParam<uint32_t> {};

TEST_P(SpawnSim, ASpawnRequestStartsOneJob) {
  Spawning run(GetParam(), 1, Persistence::kOff);
  run.cluster.Run();
  ASSERT_EQ(run.cluster.clients().StatusOf(run.request), kSuccess);
  EXPECT_EQ(run.cluster.clients().AnswerTo(run.request)->payload, "spawned1");
  EXPECT_TRUE(run.cluster.shims().IsRunning({"spawned1", 2}));
  run.ExpectClean();
}

TEST_P(SpawnSim, ARequestThatCannotBeMappedIsAnswered) {
  Spawning run(GetParam(), 1, Persistence::kOff);
  const RequestId refused =
      run.cluster.clients().Spawn({"job", 3}, SpawnCallFor({}));
  run.cluster.Run();
  EXPECT_EQ(run.cluster.clients().StatusOf(refused), kErrJobFailedToMap);
  run.ExpectClean();
}

TEST_P(SpawnSim, ASpawnerMayEndAtAnyStepOfItsSpawn) {
  for (size_t step = 0; step < 40; ++step) {
    SCOPED_TRACE("the end before step " + std::to_string(step));
    Spawning run(GetParam(), step + 1, Persistence::kOff);
    for (size_t i = 0; i < step && run.cluster.RunOne(); ++i) continue;
    run.cluster.Leave(run.spawner);
    run.Settle();
    run.ExpectClean();
  }
}

// Restarts the controller, the spawner's agent, and an agent between them.
TEST_P(SpawnSim, ASpawnIsExecutedOnceAcrossARestartAtEveryStep) {
  for (const NodeId victim : {kController, kInterior, kLeaf}) {
    for (size_t step = 0;; ++step) {
      SCOPED_TRACE("restart of " + std::to_string(victim) + " before step " +
                   std::to_string(step));
      Spawning run(GetParam(), step + 1, Persistence::kOn);
      size_t done = 0;
      while (done < step && run.cluster.RunOne()) ++done;
      run.cluster.RestartNode(victim);
      run.Settle();
      ASSERT_EQ(run.cluster.clients().StatusOf(run.request), kSuccess);
      ASSERT_EQ(
          run.cluster.spawn_host().JobsOf(run.spawner, run.request).size(), 1u);
      run.ExpectClean();
      if (done < step || HasFailure()) break;
    }
  }
}

TEST_P(SpawnSim, ASpawnSurvivesTheLossOfAForwardingAgent) {
  for (size_t step = 0;; ++step) {
    SCOPED_TRACE("loss before step " + std::to_string(step));
    Cluster cluster(kNodes, GetParam(), step + 1);
    cluster.LaunchConnected(MakeJob("job", {0, 5}));
    const ProcId spawner{"job", 1};
    const RequestId request =
        cluster.clients().Spawn(spawner, SpawnCallFor({0, 5}));
    size_t done = 0;
    while (done < step && cluster.RunOne()) ++done;
    cluster.KillNode(kInterior);
    cluster.RunFor(60'000 * kMs);
    ASSERT_EQ(cluster.clients().StatusOf(request), kSuccess);
    ASSERT_EQ(cluster.spawn_host().JobsOf(spawner, request).size(), 1u);
    for (const std::string nspace : {"job", "spawned1"}) {
      cluster.shims().Exit({nspace, 0}, 0);
      cluster.shims().Exit({nspace, 1}, 0);
    }
    cluster.RunFor(60'000 * kMs);
    for (const std::string& left : cluster.Leftovers()) ADD_FAILURE() << left;
    for (const std::string& error : cluster.errors()) ADD_FAILURE() << error;
    if (done < step || HasFailure()) break;
  }
}

TEST_P(SpawnSim, TheLossOfTheControllerEndsASpawnAtEveryStep) {
  for (size_t step = 0;; ++step) {
    SCOPED_TRACE("loss before step " + std::to_string(step));
    Spawning run(GetParam(), step + 1, Persistence::kOff);
    size_t done = 0;
    while (done < step && run.cluster.RunOne()) ++done;
    run.cluster.KillNode(kController);
    run.Settle();
    for (const std::string& left : run.cluster.Leftovers()) {
      ADD_FAILURE() << left;
    }
    if (done < step || HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Radix, SpawnSim, testing::Values(2u, 32u));

}  // namespace
}  // namespace canopy::sim
