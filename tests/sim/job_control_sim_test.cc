// Tests of job control whose agents are restarted or lost at every step, at
// both ends of the radix. Every target must get each signal once, and no
// process may wait forever.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/status.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

using namespace core;  // NOLINT: the vocabulary of this file

struct Shape {
  const char* name;
  uint32_t radix;
  uint32_t nodes;
  NodeId victim;
};

// With radix 32, members 33 and up are below member 1.
constexpr Shape kShapes[] = {
    {"Radix2Root", 2, 7, 0},     {"Radix2Interior", 2, 7, 1},
    {"Radix2Leaf", 2, 7, 5},     {"Radix2Caller", 2, 7, 6},
    {"Radix32Root", 32, 36, 0},  {"Radix32Interior", 32, 36, 1},
    {"Radix32Leaf", 32, 36, 34}, {"Radix32Caller", 32, 36, 35},
};

Bytes Flag(const std::string& key) {
  Encoder out;
  out.PutSize(1);
  out.PutString(key);
  out.PutUint32(0);
  out.PutUint16(PMIX_BOOL);
  out.PutBool(true);
  return Bytes(out.Take());
}

Bytes Signal(int number) {
  Encoder out;
  out.PutSize(1);
  out.PutString("pmix.jctrl.sig");
  out.PutUint32(0);
  out.PutUint16(PMIX_INT);
  out.PutInt(number);
  return Bytes(out.Take());
}

class JobControlSim : public testing::TestWithParam<Shape> {
 protected:
  uint32_t NumRanks() const { return GetParam().nodes - 1; }
  // The caller's job runs on the last node, the targets' job on all nodes
  // except the root.
  ProcId Caller() const { return {"caller", 0}; }
  void Launch(Cluster& c) const {
    c.LaunchConnected(MakeJob("caller", std::vector<NodeId>{NumRanks()}));
    std::vector<NodeId> agents;
    for (NodeId node = 1; node < GetParam().nodes; ++node) {
      agents.push_back(node);
    }
    c.LaunchConnected(MakeJob("job", agents));
  }

  // Runs the operation that `begin` starts once for each of its steps: restarts
  // the victim before the step, and at last calls `check`. The final run
  // restarts the victim after the last step.
  void AtEveryStep(
      const std::function<RequestId(Cluster&)>& begin,
      const std::function<void(Cluster&, RequestId)>& check) const {
    for (size_t step = 0;; ++step) {
      SCOPED_TRACE("before step " + std::to_string(step));
      Cluster c(GetParam().nodes, GetParam().radix, step + 1, Persistence::kOn);
      Launch(c);
      const RequestId request = begin(c);
      size_t done = 0;
      while (done < step && c.RunOne()) ++done;
      const bool over = c.pending() == 0;
      c.RestartNode(GetParam().victim);
      c.RunFor(30'000 * kMs);
      check(c, request);
      for (NodeId node = 0; node < GetParam().nodes; ++node) {
        EXPECT_EQ(c.Count(node).host_calls, 0u) << "node " << node;
      }
      EXPECT_TRUE(c.errors().empty()) << c.errors().front();
      if (over || HasFailure()) return;
    }
  }
};

TEST_P(JobControlSim, EachTargetIsSignalledOnce) {
  AtEveryStep(
      [&](Cluster& c) {
        return c.clients().ControlJob(Caller(), {{"job", kRankWildcard}},
                                      Signal(10));
      },
      [&](Cluster& c, RequestId request) {
        EXPECT_EQ(c.clients().StatusOf(request), kSuccess);
        for (Rank rank = 0; rank < NumRanks(); ++rank) {
          EXPECT_EQ(c.shims().signals({"job", rank}), 1u) << "rank " << rank;
        }
      });
}

TEST_P(JobControlSim, TargetsOfTwoJobsAreSignalledOnce) {
  AtEveryStep(
      [&](Cluster& c) {
        return c.clients().ControlJob(
            Caller(), {{"job", 0}, {"caller", 0}, {"job", NumRanks() - 1}},
            Flag("pmix.jctrl.pause"));
      },
      [&](Cluster& c, RequestId request) {
        EXPECT_EQ(c.clients().StatusOf(request), kSuccess);
        EXPECT_EQ(c.shims().signals({"caller", 0}), 1u);
        for (Rank rank = 0; rank < NumRanks(); ++rank) {
          const bool named = rank == 0 || rank == NumRanks() - 1;
          EXPECT_EQ(c.shims().signals({"job", rank}), named ? 1u : 0u);
        }
      });
}

TEST_P(JobControlSim, AKillEndsTheWholeJob) {
  for (const char* directive : {"pmix.jctrl.term", "pmix.jctrl.kill"}) {
    AtEveryStep(
        [&](Cluster& c) {
          return c.clients().ControlJob(Caller(), {{"job", kRankWildcard}},
                                        Flag(directive));
        },
        [&](Cluster& c, RequestId request) {
          EXPECT_EQ(c.clients().StatusOf(request), kSuccess);
          for (Rank rank = 0; rank < NumRanks(); ++rank) {
            EXPECT_FALSE(c.shims().IsRunning({"job", rank}));
          }
          EXPECT_TRUE(c.shims().IsRunning(Caller()));
        });
  }
}

TEST_P(JobControlSim, OtherRanksContinueWhenSomeAreEnded) {
  AtEveryStep(
      [&](Cluster& c) {
        return c.clients().ControlJob(Caller(), {{"job", 1}, {"job", 2}},
                                      Flag("pmix.jctrl.term"));
      },
      [&](Cluster& c, RequestId request) {
        EXPECT_EQ(c.clients().StatusOf(request), kSuccess);
        for (Rank rank = 0; rank < NumRanks(); ++rank) {
          const bool named = rank == 1 || rank == 2;
          EXPECT_NE(c.shims().IsRunning({"job", rank}), named) << rank;
        }
      });
}

TEST(JobControlLossSim, TargetsOfALostNodeAreNotAwaited) {
  for (size_t step = 0; step < 60; ++step) {
    SCOPED_TRACE("before step " + std::to_string(step));
    Cluster c(7, 2, step + 1);
    c.options().ignore_kills = true;
    c.LaunchConnected(MakeJob("caller", std::vector<NodeId>{6}));
    c.LaunchConnected(MakeJob("job", std::vector<NodeId>{1, 2, 3, 4, 5}));
    const RequestId request = c.clients().ControlJob(
        {"caller", 0}, {{"job", kRankWildcard}}, Signal(10));
    size_t done = 0;
    while (done < step && c.RunOne()) ++done;
    c.KillNode(1);
    c.RunFor(30'000 * kMs);
    EXPECT_EQ(c.clients().StatusOf(request), kSuccess);
    for (const Rank rank : {1, 2, 3, 4}) {
      EXPECT_LE(c.shims().signals({"job", rank}), 1u);
    }
  }
}

TEST(JobControlUserSim, JobControlIsLimitedToJobsOfTheSameUser) {
  Cluster c(3, 2, 1);
  JobSpec mine = MakeJob("mine", 1, 1);
  mine.uid = 1000;
  JobSpec yours = MakeJob("yours", std::vector<NodeId>{2});
  yours.uid = 1001;
  c.LaunchConnected(mine);
  c.LaunchConnected(yours);
  const RequestId request = c.clients().ControlJob({"mine", 0}, {{"yours", 0}},
                                                   Flag("pmix.jctrl.kill"));
  c.Run();
  EXPECT_EQ(c.clients().StatusOf(request), kErrNoPermissions);
  EXPECT_TRUE(c.shims().IsRunning({"yours", 0}));
  const RequestId unknown = c.clients().ControlJob({"mine", 0}, {{"nobody", 0}},
                                                   Flag("pmix.jctrl.kill"));
  c.Run();
  EXPECT_EQ(c.clients().StatusOf(unknown), kErrNotFound);
}

INSTANTIATE_TEST_SUITE_P(Shapes, JobControlSim, testing::ValuesIn(kShapes),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace canopy::sim
