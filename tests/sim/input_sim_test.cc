// Tests of the standard input of jobs: every byte must reach each process that
// consumes input, once and in order, even if agents are restarted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

constexpr uint64_t kBytes = 1000;

JobSpec MakeReader(StdinTarget target, Rank rank) {
  JobSpec job = MakeJob("job", 7, 2);
  job.stdin_target = target;
  job.stdin_rank = rank;
  return job;
}

struct Target {
  const char* name;
  StdinTarget target;
  Rank rank;
  size_t readers;
};

class InputSim : public testing::TestWithParam<Target> {
 protected:
  JobSpec Job() const { return MakeReader(GetParam().target, GetParam().rank); }
  // Expects that every reader has all of the input; the oracle compares the
  // bytes.
  void ExpectRead(const Cluster& cluster, const std::set<ProcId>& ended) const {
    EXPECT_EQ(ended.size(), GetParam().readers);
    EXPECT_EQ(cluster.input().retained("job"), 0u);
    EXPECT_TRUE(cluster.errors().empty()) << cluster.errors().front();
  }
};

TEST_P(InputSim, InputArrivesOnceAndInOrder) {
  Cluster cluster(7, 2, 1);
  std::set<ProcId> ended;
  cluster.hooks().on_input_end = [&](const ProcId& p) { ended.insert(p); };
  cluster.BeginLaunch(Job());
  cluster.input().Offer("job", kBytes);
  cluster.Run();
  EXPECT_TRUE(ended.empty());
  cluster.input().Offer("job", kBytes);
  cluster.input().Close("job");
  cluster.Run();
  ExpectRead(cluster, ended);
}

// Restarts the controller, an interior agent and a leaf.
TEST_P(InputSim, InputSurvivesARestartAtEveryStep) {
  for (const NodeId victim : {0u, 2u, 5u}) {
    for (size_t step = 0;; ++step) {
      SCOPED_TRACE("restart of " + std::to_string(victim) + " before step " +
                   std::to_string(step));
      Cluster cluster(7, 2, step + 1, Persistence::kOn);
      std::set<ProcId> ended;
      cluster.hooks().on_input_end = [&](const ProcId& p) { ended.insert(p); };
      cluster.LaunchConnected(Job());
      cluster.input().Offer("job", kBytes);
      size_t done = 0;
      while (done < step && cluster.RunOne()) ++done;
      const bool over = done < step;
      cluster.RestartNode(victim);
      cluster.input().Offer("job", kBytes);
      cluster.input().Close("job");
      cluster.RunFor(30'000 * kMs);
      ExpectRead(cluster, ended);
      if (over || HasFailure()) break;
    }
  }
}

// Input in transit through a lost agent is sent again by another route.
TEST(InputSimLoss, InputSurvivesTheLossOfAnInteriorAgentAtEveryStep) {
  for (const StdinTarget target : {StdinTarget::kRank, StdinTarget::kAll}) {
    for (size_t step = 0;; ++step) {
      SCOPED_TRACE("lost before step " + std::to_string(step));
      Cluster cluster(7, 2, step + 1);
      std::set<ProcId> ended;
      cluster.hooks().on_input_end = [&](const ProcId& p) { ended.insert(p); };
      JobSpec job = MakeJob("job", std::vector<NodeId>{0, 3, 4, 5, 6});
      job.stdin_target = target;
      job.stdin_rank = 1;
      cluster.LaunchConnected(job);
      cluster.input().Offer("job", kBytes);
      cluster.input().Close("job");
      size_t done = 0;
      while (done < step && cluster.RunOne()) ++done;
      const bool over = done < step;
      cluster.KillNode(1);
      cluster.RunFor(30'000 * kMs);
      EXPECT_EQ(ended.size(), target == StdinTarget::kAll ? 5u : 1u);
      EXPECT_EQ(cluster.input().retained("job"), 0u);
      EXPECT_TRUE(cluster.errors().empty()) << cluster.errors().front();
      if (over || testing::Test::HasFailure()) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Targets, InputSim,
    testing::Values(Target{"RankAtTheController", StdinTarget::kRank, 0, 1},
                    Target{"RankOnALeaf", StdinTarget::kRank, 11, 1},
                    Target{"AllRanks", StdinTarget::kAll, 0, 14}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace canopy::sim
