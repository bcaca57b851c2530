// Tests of collectives when processes, connections and agents are lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/status.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

constexpr int kSegfault = 11;
constexpr size_t kDown = 1;  // index in MessageBody

bool LogSays(const Cluster& cluster, const std::string& text) {
  return std::ranges::any_of(cluster.observed().log(),
                             [&](const std::string& line) {
                               return line.find(text) != std::string::npos;
                             });
}

// Returns agents for ranks on the leaves of a binary tree of 31 agents.
std::vector<NodeId> Leaves(uint32_t per_leaf) {
  std::vector<NodeId> agents;
  for (NodeId node = 15; node < 31; ++node) {
    agents.insert(agents.end(), per_leaf, node);
  }
  return agents;
}

class Healing : public testing::TestWithParam<uint64_t> {};

// Agents without participants die at any time; no process may be affected.
TEST_P(Healing, TheLossOfForwardingAgentsDoesNotAffectFences) {
  Cluster cluster(31, 2, GetParam());
  cluster.LaunchConnected(MakeJob("job", Leaves(2)));
  std::vector<NodeId> victims;
  for (NodeId node = 1; node < 15; ++node) victims.push_back(node);
  std::shuffle(victims.begin(), victims.end(), cluster.rng());
  for (int round = 0; round < 6; ++round) {
    const std::string text = std::to_string(round);
    std::vector<RequestId> requests;
    for (Rank r = 0; r < 32; ++r) {
      cluster.clients().Commit({"job", r}, core::Scope::kGlobal, "key", text);
      requests.push_back(
          cluster.clients().Fence({"job", r}, {}, round % 2 == 0));
    }
    uint32_t steps = cluster.rng()() % 250;
    while (steps-- > 0 && cluster.RunOne()) {
    }
    cluster.KillNode(victims[2 * round]);
    if (cluster.rng()() % 2 == 0) cluster.KillNode(victims[2 * round + 1]);
    cluster.Run();
    for (const RequestId r : requests) {
      ASSERT_EQ(cluster.clients().StatusOf(r), kSuccess) << "round " << round;
    }
    if (round % 2 != 0) continue;
    for (NodeId node = 15; node < 31; ++node) {
      for (Rank r = 0; r < 32; ++r) {
        ASSERT_EQ(
            ValueOf(cluster.segments().PublishedOf(node, {"job", r}), "key"),
            text);
      }
    }
  }
  EXPECT_TRUE(cluster.errors().empty()) << cluster.errors().front();
}

// The top of a collective's tree dies while it releases. Agents that have the
// result must send it to the agents that lack it.
TEST_P(Healing, ALossOfTheTopDoesNotAffectFences) {
  Cluster cluster(31, 2, GetParam());
  // Four of these agents are below agent 3 and four are below agent 4. Both are
  // children of agent 1.
  const std::vector<NodeId> agents = {15, 16, 17, 18, 19, 20, 21, 22};
  cluster.LaunchConnected(MakeJob("job", agents));
  const bool collect = cluster.rng()() % 2 == 0;
  std::vector<RequestId> requests;
  for (Rank r = 0; r < 8; ++r) {
    cluster.clients().Commit({"job", r}, core::Scope::kGlobal, "key", "value");
    requests.push_back(cluster.clients().Fence({"job", r}, {}, collect));
  }
  // The top of the tree has released the fence, and some agents have received
  // the release.
  while (cluster.observed().received(3, kDown) +
             cluster.observed().received(4, kDown) ==
         0) {
    ASSERT_TRUE(cluster.RunOne());
  }
  for (uint64_t i = cluster.rng()() % 4; i > 0; --i) cluster.RunOne();
  cluster.KillNode(1);
  cluster.Run();
  for (const RequestId r : requests)
    ASSERT_EQ(cluster.clients().StatusOf(r), kSuccess);
  for (const NodeId node : agents) {
    for (Rank r = 0; r < 8 && collect; ++r) {
      ASSERT_EQ(
          ValueOf(cluster.segments().PublishedOf(node, {"job", r}), "key"),
          "value");
    }
  }
}

// An agent without participants is restarted without its state.
TEST_P(Healing, ARestartOfAForwardingAgentDoesNotAffectFences) {
  Cluster cluster(31, 2, GetParam());
  cluster.LaunchConnected(MakeJob("job", Leaves(1)));
  const NodeId victim = 1 + cluster.rng()() % 14;
  for (int round = 0; round < 4; ++round) {
    const std::string text = std::to_string(round);
    std::vector<RequestId> requests;
    for (Rank r = 0; r < 16; ++r) {
      cluster.clients().Commit({"job", r}, core::Scope::kGlobal, "key", text);
      requests.push_back(
          cluster.clients().Fence({"job", r}, {}, round % 2 == 0));
      if (round != 1) continue;
      for (uint64_t i = cluster.rng()() % 8; i > 0; --i) cluster.RunOne();
      if (r == 7) {
        cluster.KillNode(victim);
        // This time suffices for all agents to learn of the loss.
        cluster.RunFor(3 * kMs);
        cluster.ReviveNode(victim);
      }
    }
    cluster.Run();
    for (const RequestId r : requests) {
      ASSERT_EQ(cluster.clients().StatusOf(r), kSuccess)
          << "round " << round << " agent " << victim;
    }
    for (NodeId node = 15; round % 2 == 0 && node < 31; ++node) {
      for (Rank r = 0; r < 16; ++r) {
        ASSERT_EQ(
            ValueOf(cluster.segments().PublishedOf(node, {"job", r}), "key"),
            text);
      }
    }
  }
  EXPECT_TRUE(cluster.errors().empty()) << cluster.errors().front();
}

INSTANTIATE_TEST_SUITE_P(Seeds, Healing, testing::Range<uint64_t>(0, 60));

TEST(Fault, TheDeathOfAParticipantFailsTheFenceForAll) {
  Cluster cluster(7, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 7, 2));
  cluster.options().ignore_kills = true;
  std::vector<RequestId> requests;
  for (Rank r = 0; r < 14; ++r) {
    if (r != 9) requests.push_back(cluster.clients().Fence({"job", r}));
  }
  cluster.Run();
  for (const RequestId r : requests)
    EXPECT_EQ(cluster.clients().StatusOf(r), kUnanswered);
  cluster.shims().Exit({"job", 9}, kSegfault);
  cluster.Run();
  for (const RequestId r : requests) {
    EXPECT_EQ(cluster.clients().StatusOf(r), kErrProcAborted);
  }
  EXPECT_TRUE(LogSays(cluster, "missing job:9"));
  EXPECT_TRUE(cluster.errors().empty());
}

TEST(Fault, AFenceFailsIfAParticipantDiedBeforeIt) {
  Cluster cluster(7, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 7, 1));
  cluster.options().ignore_kills = true;
  cluster.shims().Exit({"job", 4}, kSegfault);
  cluster.Run();
  std::vector<RequestId> requests;
  for (Rank r = 0; r < 7; ++r) {
    if (r == 4) continue;
    requests.push_back(cluster.clients().Fence({"job", r}));
    cluster.Run();
  }
  for (const RequestId r : requests) {
    EXPECT_EQ(cluster.clients().StatusOf(r), kErrProcAborted);
  }
}

// The rank has never connected to its agent, and is on a node of its own.
TEST(Fault, DeathOfAnUnconnectedRankFailsTheFence) {
  Cluster cluster(7, 2, 1);
  cluster.Launch(MakeJob("job", 7, 1));
  for (Rank r = 0; r < 6; ++r) cluster.clients().Connect({"job", r});
  std::vector<RequestId> requests;
  for (Rank r = 0; r < 6; ++r)
    requests.push_back(cluster.clients().Fence({"job", r}));
  cluster.Run();
  cluster.shims().Exit({"job", 6}, 0);
  cluster.Run();
  for (const RequestId r : requests) {
    EXPECT_EQ(cluster.clients().StatusOf(r), kErrProcAborted);
  }
}

TEST(Fault, AnOrderlyEndFailsTheFenceWithItsOwnStatus) {
  Cluster cluster(3, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 3, 1));
  const RequestId a = cluster.clients().Fence({"job", 0});
  const RequestId b = cluster.clients().Fence({"job", 1});
  cluster.Input(2, core::FinalizeArrived{cluster.clients().IdOf({"job", 2}),
                                         cluster.clients().NewRequest()});
  cluster.Run();
  EXPECT_EQ(cluster.clients().StatusOf(a), kUnanswered);
  cluster.shims().Exit({"job", 2}, 0);
  cluster.Run();
  EXPECT_EQ(cluster.clients().StatusOf(a), kErrProcTermWoSync);
  EXPECT_EQ(cluster.clients().StatusOf(b), kErrProcTermWoSync);
}

TEST(Fault, ALostConnectionFailsTheFence) {
  Cluster cluster(7, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 7, 1));
  std::vector<RequestId> requests;
  for (Rank r = 0; r < 6; ++r)
    requests.push_back(cluster.clients().Fence({"job", r}));
  cluster.Run();
  cluster.clients().Disconnect({"job", 6});
  cluster.Run();
  for (const RequestId r : requests) {
    EXPECT_EQ(cluster.clients().StatusOf(r), kErrProcAborted);
  }
}

TEST(Fault, LossOfAnAgentWithParticipantsFailsTheFence) {
  for (const NodeId victim : {1u, 3u, 6u}) {
    Cluster cluster(7, 2, victim);
    cluster.LaunchConnected(MakeJob("job", 7, 2));
    cluster.options().ignore_kills = true;
    std::vector<RequestId> requests;
    for (Rank r = 0; r < 13; ++r) {
      if (r / 2 != victim)
        requests.push_back(cluster.clients().Fence({"job", r}));
    }
    if (victim != 6) requests.push_back(cluster.clients().Fence({"job", 13}));
    cluster.Run();
    cluster.KillNode(victim);
    cluster.Run();
    for (const RequestId r : requests) {
      EXPECT_EQ(cluster.clients().StatusOf(r), kErrProcAborted);
    }
    EXPECT_TRUE(LogSays(cluster, "missing job:" + std::to_string(2 * victim)));
  }
}

TEST(Fault, ATimeoutNamesTheMissingProcess) {
  Cluster cluster(7, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 7, 2));
  std::vector<RequestId> requests;
  for (Rank r = 0; r < 14; ++r) {
    if (r == 11) continue;
    requests.push_back(cluster.clients().Fence({"job", r}, {}, false, 500));
  }
  cluster.RunFor(499 * kMs);
  for (const RequestId r : requests)
    EXPECT_EQ(cluster.clients().StatusOf(r), kUnanswered);
  cluster.RunFor(10 * kMs);
  for (const RequestId r : requests)
    EXPECT_EQ(cluster.clients().StatusOf(r), kErrTimeout);
  EXPECT_TRUE(LogSays(cluster, "missing job:11"));
  // The late participant gets the timeout at once; the next fence is not
  // affected.
  const RequestId late = cluster.clients().Fence({"job", 11}, {}, false, 500);
  cluster.Run();
  EXPECT_EQ(cluster.clients().StatusOf(late), kErrTimeout);
  requests.clear();
  for (Rank r = 0; r < 14; ++r)
    requests.push_back(cluster.clients().Fence({"job", r}));
  cluster.Run();
  for (const RequestId r : requests)
    EXPECT_EQ(cluster.clients().StatusOf(r), kSuccess);
  EXPECT_TRUE(cluster.errors().empty());
}

TEST(Fault, TheTimeoutOfOneCallerFailsTheFenceForAll) {
  Cluster cluster(3, 2, 1);
  cluster.LaunchConnected(MakeJob("job", 3, 1));
  const RequestId a = cluster.clients().Fence({"job", 1}, {}, false, 100);
  const RequestId b = cluster.clients().Fence({"job", 2});
  cluster.RunFor(200 * kMs);
  EXPECT_EQ(cluster.clients().StatusOf(a), kErrTimeout);
  EXPECT_EQ(cluster.clients().StatusOf(b), kErrTimeout);
}

// Each rank begins all its fences at once.
TEST(Fault, FencesInQuickSuccessionSurviveTheLossOfAnAgent) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Cluster cluster(31, 2, seed);
    cluster.LaunchConnected(MakeJob("job", Leaves(1)));
    std::vector<RequestId> requests;
    for (int i = 0; i < 5; ++i) {
      for (Rank r = 0; r < 16; ++r) {
        requests.push_back(cluster.clients().Fence({"job", r}));
      }
    }
    uint32_t steps = cluster.rng()() % 400;
    while (steps-- > 0 && cluster.RunOne()) {
    }
    cluster.KillNode(1 + cluster.rng()() % 14);
    cluster.Run();
    for (const RequestId r : requests)
      ASSERT_EQ(cluster.clients().StatusOf(r), kSuccess);
  }
}

// Random collectives on random sets while ranks and agents die. No collective
// may succeed unless all participants have arrived, no process may wait
// forever, and all survivors must agree unless a deadline or a death was
// involved.
class Chaos : public testing::TestWithParam<uint64_t> {};

struct Call {
  int set;
  int sequence;
  Rank rank;
  RequestId request;
};

TEST_P(Chaos, CollectivesEndAndSucceedOnlyIfAllHaveArrived) {
  const uint64_t seed = GetParam();
  const uint32_t nodes = 3 + seed % 20;
  Cluster cluster(nodes, 2 + seed % 3, seed);
  cluster.options().overtaking = seed % 2 == 0 ? 0 : 7;
  cluster.LaunchConnected(MakeJob("job", nodes, 2));
  cluster.options().ignore_kills = true;
  auto& rng = cluster.rng();
  const Rank ranks = 2 * nodes;
  std::vector<std::vector<ProcId>> sets = {{}};
  for (int i = 0; i < 3; ++i) {
    std::vector<ProcId> set;
    for (Rank r = 0; r < ranks; ++r) {
      if (rng() % 2 == 0) set.push_back({"job", r});
    }
    if (!set.empty()) sets.push_back(set);
  }
  const auto members = [&](int s) {
    std::vector<Rank> out;
    for (const ProcId& p : sets[s]) out.push_back(p.rank);
    if (sets[s].empty()) {
      for (Rank r = 0; r < ranks; ++r) out.push_back(r);
    }
    return out;
  };
  std::set<Rank> dead;
  std::vector<Call> calls;
  std::map<std::pair<int, int>, std::set<Rank>> entered;
  std::map<std::pair<int, Rank>, int> count;
  for (int round = 0; round < 6; ++round) {
    const int s = static_cast<int>(rng() % sets.size());
    std::vector<Rank> order = members(s);
    std::shuffle(order.begin(), order.end(), rng);
    for (const Rank r : order) {
      if (dead.contains(r)) continue;
      const int sequence = count[{s, r}]++;
      entered[{s, sequence}].insert(r);
      calls.push_back(
          {s, sequence, r,
           cluster.clients().Fence({"job", r}, sets[s], rng() % 2 == 0)});
      for (uint64_t i = rng() % 4; i > 0; --i) cluster.RunOne();
      if (rng() % (6 * ranks) == 0) {
        const Rank victim = rng() % ranks;
        if (dead.insert(victim).second)
          cluster.shims().Exit({"job", victim}, 9);
      }
      if (nodes > 3 && rng() % (12 * ranks) == 0) {
        const NodeId victim = 1 + rng() % (nodes - 1);
        if (cluster.members().alive(victim)) cluster.KillNode(victim);
        dead.insert(2 * victim);
        dead.insert(2 * victim + 1);
      }
    }
    if (rng() % 2 == 0) cluster.Run();
  }
  cluster.Run();
  for (const Call& call : calls) {
    const int status = cluster.clients().StatusOf(call.request);
    const auto& in = entered[{call.set, call.sequence}];
    const std::vector<Rank> all = members(call.set);
    const bool complete = in.size() == all.size();
    if (status == kSuccess) {
      EXPECT_TRUE(complete) << "success of an incomplete collective";
    }
    const bool someone_died =
        std::ranges::any_of(all, [&](Rank r) { return dead.contains(r); });
    if (!dead.contains(call.rank)) {
      EXPECT_NE(status, kUnanswered) << "set " << call.set << " #"
                                     << call.sequence << " rank " << call.rank;
      if (!someone_died) {
        EXPECT_EQ(status, kSuccess);
      }
    }
  }
  EXPECT_TRUE(cluster.errors().empty()) << cluster.errors().front();
}

INSTANTIATE_TEST_SUITE_P(Seeds, Chaos, testing::Range<uint64_t>(0, 200));

}  // namespace
}  // namespace canopy::sim
