// Tests of overlays whose leader is not the root, because the root is drained:
// jobs of both, and the loss, return and restart of either at every step.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/status.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

using namespace core;  // NOLINT: the vocabulary of this file

const std::vector<NodeId> kOldRanks = {0, 2, 5, 6};
const std::vector<NodeId> kNewRanks = {3, 4};

// Agents 3 and 4 are below agent 1. The root controls "old", whose agents are
// not below agent 1, and is drained. Agent 1 controls "new" from now on, in
// whose tree the root has no place.
class LeaderSim {
 public:
  explicit LeaderSim(uint64_t seed) : c_(7, 2, seed, Persistence::kOn) {
    c_.LaunchConnected(MakeJob("old", kOldRanks));
    c_.SetInService(0, false);
    c_.Run();
  }

  Cluster& cluster() { return c_; }
  void BeginNew() { c_.BeginLaunch(MakeJob("new", kNewRanks)); }
  void ConnectNew() {
    for (Rank rank = 0; rank < kNewRanks.size(); ++rank) {
      c_.clients().Connect({"new", rank});
    }
    c_.Run();
  }
  // Returns whether a fence of all ranks succeeds.
  bool Fences(const std::string& nspace, size_t ranks) {
    std::vector<RequestId> requests;
    for (Rank rank = 0; rank < ranks; ++rank) {
      requests.push_back(c_.clients().Fence({nspace, rank}, {}, true));
    }
    c_.RunFor(1000 * kMs);
    for (const RequestId request : requests) {
      if (c_.clients().StatusOf(request) != kSuccess) return false;
    }
    return true;
  }
  bool NewFences() { return Fences("new", kNewRanks.size()); }
  bool OldFences() { return Fences("old", kOldRanks.size()); }
  // Ends the ranks of a job.
  void Leave(const std::string& nspace, size_t ranks) {
    for (Rank rank = 0; rank < ranks; ++rank) c_.Leave({nspace, rank});
    c_.RunFor(30'000 * kMs);
  }
  // Returns the status of the job at its end, or kUnanswered before it.
  int EndOf(const std::string& nspace) const {
    for (const JobChanged& change : c_.launchers().job_changes()) {
      if (change.nspace == nspace && change.phase == JobPhase::kEnded) {
        return change.status;
      }
    }
    return kUnanswered;
  }
  void ExpectClean() {
    for (const std::string& error : c_.errors()) ADD_FAILURE() << error;
    for (const std::string& left : c_.Leftovers()) ADD_FAILURE() << left;
  }

 private:
  Cluster c_;
};

// Applies the fault before each step of the launch of "new" and after the last,
// and then runs `check`.
void AtEveryStep(const std::function<void(Cluster&)>& fault,
                 const std::function<void(LeaderSim&)>& check) {
  for (size_t step = 0;; ++step) {
    SCOPED_TRACE("fault before step " + std::to_string(step));
    LeaderSim sim(step + 1);
    sim.BeginNew();
    size_t done = 0;
    while (done < step && sim.cluster().RunOne()) ++done;
    const bool over = sim.cluster().pending() == 0;
    fault(sim.cluster());
    sim.cluster().RunFor(30'000 * kMs);
    check(sim);
    sim.ExpectClean();
    if (over || testing::Test::HasFailure()) {
      EXPECT_GT(step, 10u);
      return;
    }
  }
}

void ExpectNewWorks(LeaderSim& sim) {
  sim.ConnectNew();
  EXPECT_TRUE(sim.NewFences());
  sim.Leave("new", kNewRanks.size());
  EXPECT_EQ(sim.EndOf("new"), kSuccess);
}

void ExpectOldWorks(LeaderSim& sim) {
  EXPECT_TRUE(sim.OldFences());
  sim.Leave("old", kOldRanks.size());
  EXPECT_EQ(sim.EndOf("old"), kSuccess);
}

TEST(LeaderSimTest, JobsOfBothControllersRunAndEnd) {
  LeaderSim sim(1);
  sim.BeginNew();
  sim.cluster().Run();
  EXPECT_TRUE(sim.OldFences());
  ExpectNewWorks(sim);
  ExpectOldWorks(sim);
  sim.ExpectClean();
}

// Node 6 has no part in the job, and requests its map from the root.
TEST(LeaderSimTest, TheRootKnowsTheJobsOfTheLeader) {
  LeaderSim sim(2);
  Cluster& c = sim.cluster();
  sim.BeginNew();
  c.Run();
  sim.ConnectNew();
  c.clients().Commit({"new", 1}, Scope::kGlobal, "key", "value");
  GetArrived get;
  get.target = {"new", 1};
  get.key = "key";
  const RequestId request = c.clients().Get({"old", 3}, std::move(get));
  c.Run();
  EXPECT_EQ(c.clients().StatusOf(request), kSuccess);
  sim.Leave("new", kNewRanks.size());
  sim.Leave("old", kOldRanks.size());
  sim.ExpectClean();
}

// The drained root may be removed: the jobs of the leader continue.
TEST(LeaderSimTest, TheLossOfTheRootDoesNotAffectJobsOfTheLeader) {
  AtEveryStep([](Cluster& c) { c.KillNode(0); },
              [](LeaderSim& sim) { ExpectNewWorks(sim); });
}

TEST(LeaderSimTest, TheReturnOfTheRootDoesNotAffectJobsOfTheLeader) {
  AtEveryStep(
      [](Cluster& c) {
        c.KillNode(0);
        c.RunFor(3 * kMs);
        c.ReviveNode(0);
      },
      [](LeaderSim& sim) { ExpectNewWorks(sim); });
}

TEST(LeaderSimTest, ARestartOfTheRootAffectsNoJob) {
  AtEveryStep([](Cluster& c) { c.RestartNode(0); },
              [](LeaderSim& sim) {
                ExpectNewWorks(sim);
                ExpectOldWorks(sim);
              });
}

TEST(LeaderSimTest, ARestartOfTheLeaderAffectsNoJob) {
  AtEveryStep([](Cluster& c) { c.RestartNode(1); },
              [](LeaderSim& sim) {
                ExpectNewWorks(sim);
                ExpectOldWorks(sim);
              });
}

TEST(LeaderSimTest, TheLossOfTheLeaderEndsItsJobsAlone) {
  AtEveryStep([](Cluster& c) { c.KillNode(1); },
              [](LeaderSim& sim) {
                for (const NodeId node : kNewRanks) {
                  const auto jobs = sim.cluster().shims().JobsOn(node);
                  EXPECT_EQ(std::ranges::count(jobs, "new"), 0);
                }
                ExpectOldWorks(sim);
              });
}

// The root leads again, and so does not learn of the job by its launch.
TEST(LeaderSimTest, ARootInServiceAgainKnowsTheJobsOfTheInterimLeader) {
  AtEveryStep([](Cluster& c) { c.SetInService(0, true); },
              [](LeaderSim& sim) {
                EXPECT_EQ(sim.cluster().members().leader(), 0u);
                ExpectNewWorks(sim);
                ExpectOldWorks(sim);
              });
}

}  // namespace
}  // namespace canopy::sim
