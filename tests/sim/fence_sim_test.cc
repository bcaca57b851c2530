// Tests of fences over many simulated agents.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/status.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

constexpr size_t kUp = 0;  // indices in MessageBody
constexpr size_t kDown = 1;

struct Shape {
  uint32_t nodes;
  uint32_t radix;
  uint32_t per_node;
  uint64_t seed;
};

class FenceSim : public testing::TestWithParam<Shape> {};

// Every rank commits and enters a collecting fence in random order. No rank may
// leave before the last has entered. Afterwards each node must show exactly
// what each rank has committed.
TEST_P(FenceSim, AfterAFenceEachNodeHasExactlyTheCommittedData) {
  const Shape shape = GetParam();
  Cluster cluster(shape.nodes, shape.radix, shape.seed);
  cluster.options().one_release_a_step = true;
  const JobSpec job = MakeJob("job", shape.nodes, shape.per_node);
  cluster.LaunchConnected(job);
  const Rank ranks = shape.nodes * shape.per_node;
  for (int round = 0; round < 3; ++round) {
    std::vector<Rank> order(ranks);
    for (Rank r = 0; r < ranks; ++r) order[r] = r;
    std::shuffle(order.begin(), order.end(), cluster.rng());
    std::vector<RequestId> requests;
    bool all_entered = false;
    cluster.hooks().after_step = [&] {
      if (all_entered) return;
      for (const RequestId r : requests) {
        ASSERT_EQ(cluster.clients().AnswerTo(r), nullptr)
            << "left before all came";
      }
    };
    for (const Rank& r : order) {
      const std::string text = std::to_string(r) + "." + std::to_string(round);
      cluster.clients().Commit({"job", r}, core::Scope::kGlobal, "key", text);
      cluster.clients().Commit({"job", r}, core::Scope::kGlobal,
                               "key." + std::to_string(round), text);
      if (&r == &order.back()) all_entered = true;
      requests.push_back(cluster.clients().Fence({"job", r}, {}, true));
      for (int i = cluster.rng()() % 3; i > 0; --i) cluster.RunOne();
    }
    cluster.Run();
    for (const RequestId r : requests)
      ASSERT_EQ(cluster.clients().StatusOf(r), 0);
    for (NodeId n = 0; n < shape.nodes; n += 1 + shape.nodes / 16) {
      for (Rank r = 0; r < ranks; ++r) {
        ASSERT_EQ(ValueOf(cluster.segments().PublishedOf(n, {"job", r}), "key"),
                  std::to_string(r) + "." + std::to_string(round))
            << "node " << n << " rank " << r;
        for (int past = 0; past <= round; ++past) {
          const std::string number = "." + std::to_string(past);
          ASSERT_EQ(ValueOf(cluster.segments().PublishedOf(n, {"job", r}),
                            "key" + number),
                    std::to_string(r) + number)
              << "node " << n << " rank " << r;
        }
      }
    }
  }
  EXPECT_EQ(cluster.observed().messages(kUp), 3u * (shape.nodes - 1));
  EXPECT_EQ(cluster.observed().messages(kDown), 3u * (shape.nodes - 1));
  EXPECT_TRUE(cluster.errors().empty()) << cluster.errors().front();
}

INSTANTIATE_TEST_SUITE_P(Shapes, FenceSim,
                         testing::Values(Shape{1, 2, 4, 1}, Shape{2, 2, 1, 2},
                                         Shape{7, 2, 3, 3}, Shape{33, 32, 2, 4},
                                         Shape{64, 2, 2, 5},
                                         Shape{100, 3, 1, 6}));

// A fence without data over many agents.
TEST(FenceSimLarge, AFenceOfAThousandAgentsCompletes) {
  for (const uint32_t radix : {2u, 32u}) {
    Cluster cluster(1000, radix, radix);
    cluster.LaunchConnected(MakeJob("job", 1000, 1));
    for (int round = 0; round < 2; ++round) {
      std::vector<RequestId> requests;
      for (Rank r = 0; r < 1000; ++r) {
        requests.push_back(cluster.clients().Fence({"job", r}));
      }
      cluster.Run();
      for (const RequestId r : requests)
        ASSERT_EQ(cluster.clients().StatusOf(r), 0);
    }
    EXPECT_EQ(cluster.observed().messages(kUp), 2u * 999);
    EXPECT_EQ(cluster.observed().messages(kDown), 2u * 999);
    EXPECT_TRUE(cluster.errors().empty());
  }
}

TEST(FenceSim, ALocalFenceSendsNoMessage) {
  Cluster cluster(3, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 3, 4));
  const std::vector<ProcId> some = {{"job", 4}, {"job", 5}, {"job", 7}};
  std::vector<RequestId> requests;
  for (const ProcId& p : some)
    requests.push_back(cluster.clients().Fence(p, some, true));
  cluster.Run();
  for (const RequestId r : requests)
    EXPECT_EQ(cluster.clients().StatusOf(r), 0);
  EXPECT_EQ(
      cluster.observed().messages(kUp) + cluster.observed().messages(kDown),
      0u);
}

TEST(FenceSim, AFenceWithinASubtreeSendsNoMessageToTheRoot) {
  Cluster cluster(15, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 15, 1));
  // Agent 1 is the lowest common ancestor of agents 7 and 10.
  const std::vector<ProcId> some = {{"job", 7}, {"job", 10}};
  const RequestId a = cluster.clients().Fence(some[0], some);
  cluster.Run();
  EXPECT_EQ(cluster.clients().AnswerTo(a), nullptr);
  const RequestId b = cluster.clients().Fence(some[1], some);
  cluster.Run();
  EXPECT_EQ(cluster.clients().StatusOf(a), 0);
  EXPECT_EQ(cluster.clients().StatusOf(b), 0);
  EXPECT_EQ(cluster.observed().received(0, kUp), 0u);
  EXPECT_EQ(cluster.observed().received(0, kDown), 0u);
  EXPECT_EQ(cluster.observed().received(1, kUp), 2u);
}

// A value is replaced between two gets, and no key is added. So only versions
// show that the agent which resends the result of the disconnect has the older
// value. It resends data because it knows only one of the jobs when it recovers
// the disconnect.
TEST(FenceSim, ARestartedAgentDoesNotResendDataOverNewerData) {
  Cluster cluster(3, 2, 1, Persistence::kOn);
  cluster.LaunchConnected(MakeJob("job", 3, 1));
  cluster.LaunchConnected(MakeJob("other", {1}));
  Clients& clients = cluster.clients();
  const std::vector<ProcId> all = {
      {"job", 0}, {"job", 1}, {"job", 2}, {"other", 0}};
  for (const ProcId& proc : all) {
    clients.Collective(core::CollectiveOp::kConnect, proc, all);
  }
  cluster.Run();
  for (const Rank reader : {0u, 2u}) {
    const std::string value = "seen by " + std::to_string(reader);
    clients.Commit({"job", 1}, core::Scope::kGlobal, "key", value);
    cluster.Run();
    core::GetArrived get;
    get.target = {"job", 1};
    get.key = "key";
    clients.Get({"job", reader}, get);
    cluster.Run();
  }
  std::vector<RequestId> requests;
  for (const ProcId& proc : all) {
    requests.push_back(
        clients.Collective(core::CollectiveOp::kDisconnect, proc, all));
  }
  while (clients.StatusOf(requests[0]) == kUnanswered && cluster.RunOne()) {
  }
  cluster.RestartNode(0);
  cluster.RunFor(10'000 * kMs);
  for (const RequestId request : requests) {
    EXPECT_EQ(clients.StatusOf(request), kSuccess);
  }
  EXPECT_EQ(ValueOf(cluster.segments().PublishedOf(2, {"job", 1}), "key"),
            "seen by 2");
  EXPECT_TRUE(cluster.errors().empty()) << cluster.errors().front();
}

}  // namespace
}  // namespace canopy::sim
