// Tests of process groups whose agents are restarted or lost at every step of
// their construct and destruct, at both ends of the radix. All members must
// have the same group, with a unique context id, and no process may wait
// forever.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>
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
    {"Radix2Root", 2, 7, 0},        {"Radix2Interior", 2, 7, 1},
    {"Radix2Leaf", 2, 7, 5},        {"Radix32Root", 32, 36, 0},
    {"Radix32Interior", 32, 36, 1}, {"Radix32Leaf", 32, 36, 34},
};

Bytes Flags(const std::vector<std::string>& keys) {
  Encoder out;
  out.PutSize(keys.size());
  for (const std::string& key : keys) {
    out.PutString(key);
    out.PutUint32(0);
    out.PutUint16(PMIX_BOOL);
    out.PutBool(true);
  }
  return Bytes(out.Take());
}

class GroupSim : public testing::TestWithParam<Shape> {
 protected:
  // There is one rank on each node except node 0, which is only the controller
  // and can be lost. Rank = node - 1.
  void Launch(Cluster& c) const {
    c.options().ignore_kills = true;
    std::vector<NodeId> agents;
    for (NodeId node = 1; node < GetParam().nodes; ++node) {
      agents.push_back(node);
    }
    c.LaunchConnected(MakeJob("a", agents));
  }
  Rank NumRanks() const { return GetParam().nodes - 1; }
  // Every second member lists all members; the others name the whole job.
  std::vector<ProcId> Named(Rank rank) const {
    if (rank % 2 == 0) return {{"a", kRankWildcard}};
    std::vector<ProcId> all;
    for (Rank r = 0; r < NumRanks(); ++r) all.push_back({"a", r});
    return all;
  }
  std::vector<RequestId> Call(Cluster& c, CollectiveOp op,
                              const std::string& name,
                              const Bytes& info = {}) const {
    std::vector<RequestId> requests;
    for (Rank rank = 0; rank < NumRanks(); ++rank) {
      requests.push_back(
          c.clients().Group(op, {"a", rank}, name, Named(rank), info));
    }
    return requests;
  }
  bool IsLost(Rank rank) const { return rank + 1 == GetParam().victim; }

  // Returns the successful answers, which must be equal. If `lost`, answers of
  // the lost node do not count.
  std::set<std::string> Answers(Cluster& c,
                                const std::vector<RequestId>& requests,
                                bool lost) const {
    std::set<std::string> payloads;
    for (Rank rank = 0; rank < NumRanks(); ++rank) {
      if (lost && IsLost(rank)) continue;
      const Answer* answer = c.clients().AnswerTo(requests[rank]);
      EXPECT_NE(answer, nullptr) << "rank " << rank << " waits for ever";
      if (answer == nullptr) continue;
      EXPECT_EQ(answer->status, kSuccess) << "rank " << rank;
      payloads.insert(answer->payload);
    }
    EXPECT_LE(payloads.size(), 1u) << "several groups of one name";
    return payloads;
  }

  // Calls `fault` before each step of the operation that `begin` starts and
  // after the last; `check` checks the result.
  void AtEveryStep(Persistence persistence,
                   const std::function<void(Cluster&)>& begin,
                   const std::function<void(Cluster&)>& fault,
                   const std::function<void(Cluster&)>& check) const {
    for (size_t step = 0;; ++step) {
      SCOPED_TRACE("before step " + std::to_string(step));
      Cluster c(GetParam().nodes, GetParam().radix, step + 1, persistence);
      Launch(c);
      begin(c);
      size_t done = 0;
      while (done < step && c.RunOne()) ++done;
      const bool over = c.pending() == 0;
      fault(c);
      c.RunFor(30'000 * kMs);
      check(c);
      EXPECT_TRUE(c.errors().empty()) << c.errors().front();
      if (over || HasFailure()) return;
    }
  }
};

const Bytes kContext = Flags({"pmix.grp.actxid"});
// A group with these directives continues without a lost node.
const Bytes kTolerant = Flags({"pmix.grp.actxid", "pmix.grp.ftcoll"});

TEST_P(GroupSim, AConstructSurvivesTheRestartOfAnAgentAtEveryStep) {
  std::vector<RequestId> requests;
  AtEveryStep(
      Persistence::kOn,
      [&](Cluster& c) {
        requests = Call(c, CollectiveOp::kGroupConstruct, "g", kContext);
      },
      [](Cluster& c) { c.RestartNode(GetParam().victim); },
      [&](Cluster& c) {
        const auto first = Answers(c, requests, false);
        // The successor assigns context ids as well, and knows the end of the
        // group.
        const auto second = Answers(
            c,
            [&] {
              const auto next =
                  Call(c, CollectiveOp::kGroupConstruct, "h", kContext);
              c.Run();
              return next;
            }(),
            false);
        EXPECT_NE(first, second) << "one context id twice";
        for (const char* name : {"g", "h"}) {
          const auto ends = Call(c, CollectiveOp::kGroupDestruct, name);
          c.Run();
          Answers(c, ends, false);
        }
        for (NodeId node = 0; node < GetParam().nodes; ++node) {
          EXPECT_EQ(c.Count(node).groups, 0u) << "node " << node;
        }
      });
}

TEST_P(GroupSim, ADestructSurvivesTheRestartOfAnAgentAtEveryStep) {
  std::vector<RequestId> requests;
  AtEveryStep(
      Persistence::kOn,
      [&](Cluster& c) {
        Call(c, CollectiveOp::kGroupConstruct, "g", kContext);
        c.Run();
        requests = Call(c, CollectiveOp::kGroupDestruct, "g");
      },
      [](Cluster& c) { c.RestartNode(GetParam().victim); },
      [&](Cluster& c) {
        Answers(c, requests, false);
        const auto again =
            Call(c, CollectiveOp::kGroupConstruct, "g", kContext);
        c.Run();
        Answers(c, again, false);
      });
}

// The member on the victim has left, and the others destruct the group. The
// victim's contribution must not be lost with its agent. Restarts happen before
// the leave, during the leave and during the destruct.
TEST_P(GroupSim, ALeaveSurvivesTheRestartOfItsAgentAtEveryStep) {
  if (GetParam().victim == 0) return;  // it has no member
  const Rank leaver = GetParam().victim - 1;
  std::vector<RequestId> requests;
  RequestId left = 0;
  AtEveryStep(
      Persistence::kOn,
      [&](Cluster& c) {
        Call(c, CollectiveOp::kGroupConstruct, "g");
        c.Run();
        left = c.clients().LeaveGroup({"a", leaver}, "g");
        requests.clear();
        for (Rank rank = 0; rank < NumRanks(); ++rank) {
          if (rank == leaver) continue;
          requests.push_back(c.clients().Group(CollectiveOp::kGroupDestruct,
                                               {"a", rank}, "g", Named(rank)));
        }
      },
      [](Cluster& c) { c.RestartNode(GetParam().victim); },
      [&](Cluster& c) {
        const Answer* answer = c.clients().AnswerTo(left);
        ASSERT_NE(answer, nullptr);
        EXPECT_EQ(answer->status, kSuccess);
        for (const RequestId request : requests) {
          const Answer* end = c.clients().AnswerTo(request);
          ASSERT_NE(end, nullptr) << "a destruct hangs";
          EXPECT_EQ(end->status, kSuccess);
        }
        for (NodeId node = 0; node < GetParam().nodes; ++node) {
          EXPECT_EQ(c.Count(node).groups, 0u) << "node " << node;
        }
      });
}

TEST_P(GroupSim, ATolerantConstructSurvivesTheLossOfANode) {
  std::vector<RequestId> requests;
  AtEveryStep(
      Persistence::kOff,
      [&](Cluster& c) {
        requests = Call(c, CollectiveOp::kGroupConstruct, "g", kTolerant);
      },
      [](Cluster& c) { c.KillNode(GetParam().victim); },
      [&](Cluster& c) {
        Answers(c, requests, true);
        // Like the construct, the destruct of the group does not need the lost
        // members.
        std::vector<RequestId> ends;
        for (Rank rank = 0; rank < NumRanks(); ++rank) {
          ends.push_back(
              IsLost(rank) ? 0
                           : c.clients().Group(CollectiveOp::kGroupDestruct,
                                               {"a", rank}, "g", Named(rank)));
        }
        c.Run();
        Answers(c, ends, true);
      });
}

// Without a tolerant directive, all survivors must get the same result: either
// all have the group, or it failed.
TEST_P(GroupSim, AllSurvivorsOfALossGetTheSameResultOfAConstruct) {
  std::vector<RequestId> requests;
  AtEveryStep(
      Persistence::kOff,
      [&](Cluster& c) {
        requests = Call(c, CollectiveOp::kGroupConstruct, "g", kContext);
      },
      [](Cluster& c) { c.KillNode(GetParam().victim); },
      [&](Cluster& c) {
        std::set<std::string> payloads;
        for (Rank rank = 0; rank < NumRanks(); ++rank) {
          if (IsLost(rank)) continue;
          const Answer* answer = c.clients().AnswerTo(requests[rank]);
          ASSERT_NE(answer, nullptr) << "rank " << rank << " waits for ever";
          if (answer->status == kSuccess) payloads.insert(answer->payload);
        }
        EXPECT_LE(payloads.size(), 1u) << "several groups of one name";
      });
}

INSTANTIATE_TEST_SUITE_P(Shapes, GroupSim, testing::ValuesIn(kShapes),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace canopy::sim
