// Tests that lose an agent at every step of a launch, a fence with data and a
// direct modex: a leaf, an interior agent and the root of the tree, at both
// ends of the radix.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

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

const size_t kPrepare = MessageBody(JobPrepare{}).index();

class Crash : public testing::TestWithParam<Shape> {
 protected:
  std::vector<NodeId> Agents(bool with_victim) const {
    std::vector<NodeId> out;
    for (NodeId node = 0; node < GetParam().nodes; ++node) {
      if (with_victim || node != GetParam().victim) out.push_back(node);
    }
    return out;
  }
  bool RootIsLost() const { return GetParam().victim == 0; }
  std::string Name() const { return "n" + std::to_string(GetParam().victim); }

  // Each rank runs on the agent of the same number.
  void LaunchAll(Cluster& c) const {
    c.options().ignore_kills = true;
    c.LaunchConnected(MakeJob("a", Agents(true)));
    for (const NodeId rank : Agents(true)) {
      c.clients().Commit({"a", rank}, Scope::kGlobal, "key",
                         std::to_string(rank));
    }
    c.Run();
  }

  // Expects that a log line names the missing rank of the fence, or the reason
  // why the job has ended.
  void ExpectNamed(const Cluster& c) const {
    EXPECT_TRUE(
        std::ranges::any_of(c.observed().log(), [&](const std::string& line) {
          return NamesMissing(line) || NamesController(line);
        }));
  }
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  bool NamesMissing(const std::string& line) const {
    const std::string rank = "a:" + std::to_string(GetParam().victim);
    const size_t fence = line.find("fence");
    const size_t missing = line.find("missing", fence);
    if (fence == line.npos || missing == line.npos) return false;
    for (size_t at = line.find(rank, missing); at != line.npos;
         at = line.find(rank, at + 1)) {
      const size_t end = at + rank.size();
      if (end == line.size() || !IsDigit(line[end])) return true;
    }
    return false;
  }
  bool NamesController(const std::string& line) const {
    return RootIsLost() &&
           line.starts_with("job a lost the agent that controls it, n0 ");
  }

  void ExpectLaterJobsWork(Cluster& c) const {
    c.LaunchConnected(MakeJob("later", Agents(false)));
    std::vector<RequestId> requests;
    const auto ranks = static_cast<Rank>(GetParam().nodes - 1);
    for (Rank rank = 0; rank < ranks; ++rank) {
      const ProcId proc{"later", rank};
      c.clients().Commit(proc, Scope::kGlobal, "key", std::to_string(rank));
      requests.push_back(c.clients().Fence(proc, {}, true));
    }
    c.Run();
    for (const RequestId request : requests) {
      EXPECT_EQ(c.clients().StatusOf(request), kSuccess);
    }
    EXPECT_EQ(
        ValueOf(c.segments().PublishedOf(Agents(false).back(), {"later", 0}),
                "key"),
        "0");
    EXPECT_TRUE(c.errors().empty()) << c.errors().front();
  }

  // Kills the victim before each step of the operation that `begin` starts and
  // after the last; `check` checks the result. Returns the number of steps.
  size_t AtEveryStep(const std::function<void(Cluster&)>& prepare,
                     const std::function<void(Cluster&)>& begin,
                     const std::function<void(Cluster&, bool)>& check) const {
    for (size_t step = 0;; ++step) {
      SCOPED_TRACE("lost before step " + std::to_string(step));
      Cluster c(GetParam().nodes, GetParam().radix, step + 1);
      prepare(c);
      begin(c);
      size_t done = 0;
      while (done < step && c.RunOne()) ++done;
      const bool over = c.pending() == 0;
      c.KillNode(GetParam().victim);
      c.RunFor(30'000 * kMs);
      check(c, over);
      if (over || HasFailure()) return step;
    }
  }
};

TEST_P(Crash, AFenceEndsIfAnAgentIsLostAtAnyStep) {
  std::vector<RequestId> requests;
  const size_t steps = AtEveryStep(
      [&](Cluster& c) { LaunchAll(c); },
      [&](Cluster& c) {
        requests.clear();
        for (const NodeId rank : Agents(true)) {
          requests.push_back(c.clients().Fence({"a", rank}, {}, true));
        }
      },
      [&](Cluster& c, bool over) {
        bool failed = false;
        for (const NodeId rank : Agents(false)) {
          const int status = c.clients().StatusOf(requests[rank]);
          EXPECT_NE(status, kUnanswered)
              << "rank " << rank << " waits for ever";
          failed |= status != kSuccess;
        }
        EXPECT_FALSE(over && failed);
        if (failed) ExpectNamed(c);
        if (RootIsLost()) return ExpectLaterJobsWork(c);
        // The survivors fence among themselves.
        std::vector<ProcId> left;
        for (const NodeId rank : Agents(false)) left.push_back({"a", rank});
        std::vector<RequestId> again;
        for (const ProcId& proc : left) {
          again.push_back(c.clients().Fence(proc, left, true));
        }
        c.Run();
        for (const RequestId r : again)
          EXPECT_EQ(c.clients().StatusOf(r), kSuccess);
        ExpectLaterJobsWork(c);
      });
  EXPECT_GT(steps, GetParam().nodes * 2);
}

TEST_P(Crash, ADirectModexEndsIfAnAgentIsLostAtAnyStep) {
  std::vector<RequestId> requests;
  const uint32_t n = GetParam().nodes;
  const auto target = [&](NodeId rank) { return (rank * 5 + 3) % n; };
  const size_t steps = AtEveryStep(
      [&](Cluster& c) { LaunchAll(c); },
      [&](Cluster& c) {
        requests.clear();
        for (const NodeId rank : Agents(true)) {
          GetArrived get;
          get.target = {"a", target(rank)};
          get.key = "key";
          requests.push_back(c.clients().Get({"a", rank}, get));
        }
      },
      [&](Cluster& c, bool over) {
        for (const NodeId rank : Agents(false)) {
          const int status = c.clients().StatusOf(requests[rank]);
          EXPECT_NE(status, kUnanswered)
              << "rank " << rank << " waits for ever";
          if (status == kSuccess) {
            EXPECT_EQ(
                ValueOf(c.segments().PublishedOf(rank, {"a", target(rank)}),
                        "key"),
                std::to_string(target(rank)))
                << "rank " << rank;
            continue;
          }
          // A get of the lost rank fails. All other gets succeed, even if the
          // node was the job's controller.
          EXPECT_FALSE(over);
          EXPECT_EQ(target(rank), GetParam().victim) << "rank " << rank;
          EXPECT_EQ(status, kErrUnreach) << "rank " << rank;
        }
        ExpectLaterJobsWork(c);
      });
  EXPECT_GT(steps, n);
}

TEST_P(Crash, ALaunchEndsIfAnAgentIsLostAtAnyStep) {
  const size_t steps = AtEveryStep(
      [](Cluster&) {},
      [&](Cluster& c) { c.BeginLaunch(MakeJob("a", Agents(true))); },
      [&](Cluster& c, bool) {
        if (RootIsLost()) {
          // Before the first JobPrepare, no other agent has the job.
          const bool begun = c.observed().messages(kPrepare) > 0;
          EXPECT_EQ(begun, std::ranges::any_of(c.observed().log(),
                                               [&](const std::string& line) {
                                                 return NamesController(line);
                                               }));
        } else {
          ASSERT_FALSE(c.launchers().job_changes().empty());
          const JobChanged& end = c.launchers().job_changes().back();
          EXPECT_EQ(end.phase, JobPhase::kEnded);
          EXPECT_NE(end.status, kSuccess);
          EXPECT_NE(end.text.find(Name()), std::string::npos) << end.text;
        }
        for (const std::string& left : c.Leftovers()) ADD_FAILURE() << left;
        ExpectLaterJobsWork(c);
      });
  EXPECT_GT(steps, GetParam().nodes * 4);
}

// The lost agent has no rank of the job, but the abort may have been on its way
// through it.
TEST_P(Crash, AnAbortEndsTheJobIfAnAgentIsLostAtAnyStep) {
  if (RootIsLost()) GTEST_SKIP() << "nobody is left to end the job";
  const size_t steps = AtEveryStep(
      [&](Cluster& c) { c.LaunchConnected(MakeJob("a", Agents(false))); },
      [&](Cluster& c) {
        const ProcId caller{"a", GetParam().nodes - 2};
        c.Input(GetParam().nodes - 1, AbortArrived{c.clients().IdOf(caller),
                                                   c.clients().NewRequest(),
                                                   7,
                                                   "enough",
                                                   {}});
      },
      [&](Cluster& c, bool) {
        const JobChanged& end = c.launchers().job_changes().back();
        EXPECT_EQ(end.phase, JobPhase::kEnded);
        EXPECT_EQ(end.exit_code, 7);
        EXPECT_NE(end.text.find("enough"), std::string::npos) << end.text;
        for (const std::string& left : c.Leftovers()) ADD_FAILURE() << left;
        ExpectLaterJobsWork(c);
      });
  EXPECT_GT(steps, 2u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Crash, testing::ValuesIn(kShapes),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace canopy::sim
