#include "server/core/job_engine.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <set>

#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/job_text.h"

namespace canopy::core {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;

int Exited(int code) { return code << 8; }

// A cluster of engines, an in-order network and local sides that answer at
// once unless a test takes them over.
class Cluster {
 public:
  Cluster(uint32_t size, uint32_t radix) : nodes_(size) {
    for (uint32_t i = 0; i < size; ++i) {
      names_.push_back("node" + std::to_string(i));
    }
    for (uint32_t i = 0; i < size; ++i) {
      Node& n = nodes_[i];
      n.tree = std::make_unique<Tree>(size, radix);
      n.table = std::make_unique<JobTable>(i);
      n.engine = std::make_unique<JobEngine>(i, names_, *n.tree, *n.table);
    }
  }

  struct Node {
    std::unique_ptr<Tree> tree;
    std::unique_ptr<JobTable> table;
    std::unique_ptr<JobEngine> engine;
    bool dead = false;
    bool auto_prepare = true;
    bool auto_start = true;
    bool auto_kill = true;
    int prepare_status = 0;
    std::string prepare_text;
    std::shared_ptr<const JobSpec> job;
    std::vector<Rank> local;
    std::set<Rank> alive;
    Actions seen;
  };

  JobEngine& engine(NodeId n) { return *nodes_[n].engine; }
  Node& node(NodeId n) { return nodes_[n]; }

  // Lets one node act and executes what it asks for; what that leads to on
  // this node follows as inputs of their own.
  void Do(NodeId n, std::function<void(JobEngine&, Actions*)> call) {
    inputs_.emplace_back(n, std::move(call));
    if (std::exchange(busy_, true)) return;
    while (!inputs_.empty()) {
      const auto [node, input] = std::move(inputs_.front());
      inputs_.pop_front();
      Actions actions;
      input(*nodes_[node].engine, &actions);
      for (const Action& a : actions) {
        nodes_[node].seen.push_back(a);
        Execute(node, a);
      }
    }
    busy_ = false;
  }

  // Until nothing is under way.
  void Run() {
    while (!network_.empty()) {
      PeerMessage m = std::move(network_.front());
      network_.pop_front();
      ++messages;
      if (nodes_[m.dst].dead || nodes_[m.src].dead) continue;
      Do(m.dst,
         [&](JobEngine& e, Actions* a) { EXPECT_TRUE(e.OnPeer(now, m, a)); });
    }
  }

  void Launch(std::shared_ptr<const JobSpec> job) {
    Do(0, [&](JobEngine& e, Actions* a) {
      e.OnLaunchRequested(now, {std::move(job)}, a);
    });
  }

  void Exit(Rank rank, int wait_status, bool init = false,
            bool finalized = false) {
    for (NodeId n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].alive.erase(rank) == 0) continue;
      EndRanks(n, {ProcExit{rank, wait_status, false, init, finalized}});
    }
  }

  // Everyone hears of it at once.
  void LoseNode(NodeId lost) {
    nodes_[lost].dead = true;
    for (NodeId n = 0; n < nodes_.size(); ++n) Hear(n, lost);
  }

  // A new agent takes the node's place; with ranks there it finds them.
  void Restart(NodeId n) {
    Node& node = nodes_[n];
    std::erase_if(network_, [n](const PeerMessage& m) {
      return m.src == n || m.dst == n;
    });
    node.tree = std::make_unique<Tree>(static_cast<uint32_t>(nodes_.size()),
                                       node.tree->radix());
    node.table = std::make_unique<JobTable>(n);
    node.engine =
        std::make_unique<JobEngine>(n, names_, *node.tree, *node.table);
    if (node.job != nullptr) {
      Do(n, [&](JobEngine& e, Actions* a) {
        e.OnRecovered(now, {node.job, true, {}, {}}, a);
      });
      // The shim tells of all ends again.
      std::vector<ProcExit> ended;
      for (const Rank rank : node.local) {
        if (!node.alive.contains(rank)) {
          ended.push_back({rank, 0, false, true, true});
        }
      }
      EndRanks(n, ended);
    }
    for (NodeId other = 0; other < nodes_.size(); ++other) {
      if (other == n || nodes_[other].dead) continue;
      Do(other,
         [&](JobEngine& e, Actions* a) { e.OnNodeRestarted(now, n, a); });
    }
  }

  // One node learns that another is lost.
  void Hear(NodeId n, NodeId lost) {
    nodes_[n].tree->SetAlive(lost, false);
    if (nodes_[n].dead) return;
    Do(n, [=, this](JobEngine& e, Actions* a) {
      e.OnNodeLost(now, lost, "connection closed", a);
    });
  }

  template <typename T>
  std::vector<T> Seen(NodeId n) const {
    std::vector<T> out;
    for (const Action& a : nodes_[n].seen) {
      if (const T* t = std::get_if<T>(&a)) out.push_back(*t);
    }
    return out;
  }

  // The last report at the controller.
  JobChanged Last() const {
    const std::vector<JobChanged> all = Seen<JobChanged>(0);
    EXPECT_FALSE(all.empty());
    return all.empty() ? JobChanged{} : all.back();
  }

  // Nothing of any job is left on a living node.
  void ExpectClean() {
    for (NodeId n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].dead) continue;
      EXPECT_TRUE(nodes_[n].alive.empty()) << "node " << n;
      EXPECT_EQ(Seen<RegisterJob>(n).size(), Seen<DropJob>(n).size()) << n;
      EXPECT_EQ(Seen<PrepareLocal>(n).size(), Seen<ForgetLocal>(n).size());
      EXPECT_EQ(nodes_[n].table->Find("job"), nullptr) << "node " << n;
      EXPECT_EQ(nodes_[n].engine->NextDeadline(), kNever);
    }
  }

  TimeNs now = 1000;
  int messages = 0;
  std::deque<PeerMessage> network_;

 private:
  void EndRanks(NodeId n, const std::vector<ProcExit>& exits) {
    Do(n, [=, this](JobEngine& e, Actions* a) {
      e.OnLocalExits(now, {"job", exits}, a);
    });
    for (const ProcExit& exit : exits) {
      for (const uint16_t channel : {2, 4}) {
        Do(n, [=, this](JobEngine& e, Actions* a) {
          e.OnLocalOutput(now, {"job", exit.rank, channel, Bytes()}, a);
        });
      }
    }
  }

  void Execute(NodeId n, const Action& action) {
    Node& node = nodes_[n];
    if (const auto* send = std::get_if<SendPeer>(&action)) {
      EXPECT_EQ(send->message.src, n);
      EXPECT_NE(send->message.dst, n);
      network_.push_back(send->message);
    } else if (const auto* prepare = std::get_if<PrepareLocal>(&action)) {
      node.job = prepare->job;
      node.local = prepare->layout->ranks_on(prepare->layout->node_of_agent(n));
      if (!node.auto_prepare) return;
      const int status = node.prepare_status;
      const std::string text = node.prepare_text;
      Do(n, [=, this](JobEngine& e, Actions* a) {
        e.OnLocalPrepared(now, {"job", status, text}, a);
      });
    } else if (std::holds_alternative<StartLocal>(action)) {
      if (!node.auto_start) return;
      node.alive = {node.local.begin(), node.local.end()};
      const auto procs = static_cast<uint32_t>(node.local.size());
      Do(n, [=, this](JobEngine& e, Actions* a) {
        e.OnLocalStarted(now, {"job", procs, 0, ""}, a);
      });
    } else if (const auto* kill = std::get_if<KillLocal>(&action)) {
      if (!node.auto_kill) return;
      std::vector<ProcExit> exits;
      for (const Rank r : std::set<Rank>(node.alive)) {
        if (kill->ranks.empty() || std::ranges::count(kill->ranks, r) > 0) {
          node.alive.erase(r);
          exits.push_back({r, SIGTERM, false, false, false});
        }
      }
      if (!exits.empty()) EndRanks(n, exits);
    }
  }

  std::vector<std::string> names_;
  std::vector<Node> nodes_;
  std::deque<std::pair<NodeId, std::function<void(JobEngine&, Actions*)>>>
      inputs_;
  bool busy_ = false;
};

// `per_node` ranks on each of the agents, in their order.
std::shared_ptr<JobSpec> MakeJob(std::vector<NodeId> agents,
                                 uint32_t per_node) {
  auto job = std::make_shared<JobSpec>();
  job->nspace = "job";
  job->apps.push_back({"./a", {"./a"}, {}, "", 0});
  for (const NodeId agent : agents) {
    const auto index = static_cast<uint32_t>(job->nodes.size());
    job->nodes.push_back({"node" + std::to_string(agent), {}, agent, per_node});
    for (uint32_t i = 0; i < per_node; ++i) {
      job->procs.push_back({index, 0, ""});
    }
  }
  job->apps[0].num_procs = static_cast<uint32_t>(job->procs.size());
  return job;
}

std::vector<NodeId> Agents(NodeId first, NodeId last) {
  std::vector<NodeId> out;
  for (NodeId n = first; n <= last; ++n) out.push_back(n);
  return out;
}

void ExitAll(Cluster& c, uint32_t procs) {
  for (Rank r = 0; r < procs; ++r) c.Exit(r, 0, true, true);
  c.Run();
}

TEST(JobEngine, OneNodeNeedsNoMessages) {
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

TEST(JobEngine, RunsOverATree) {
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

TEST(JobEngine, GoesOnlyToAgentsOnTheWay) {
  Cluster c(7, 2);
  c.Launch(MakeJob({5}, 1));  // path 0 - 2 - 5
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

TEST(JobEngine, EveryNodesPrepareErrorIsCounted) {
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

TEST(JobEngine, LocalPrepareErrorAtTheRoot) {
  Cluster c(1, 2);
  c.node(0).prepare_status = kErrJobAppNotExecutable;
  c.node(0).prepare_text = "./a is not executable on node0";
  c.Launch(MakeJob({0}, 2));
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().text, "./a is not executable on node0");
  c.ExpectClean();
}

TEST(JobEngine, StartErrorKillsWhatRuns) {
  Cluster c(3, 2);
  c.node(2).auto_start = false;
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kStarting);
  // One of two processes came up there.
  c.node(2).alive = {4};
  c.Do(2, [&](JobEngine& e, Actions* a) {
    e.OnLocalStarted(c.now, {"job", 1, kErrProcFailedToStart, "no memory"}, a);
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

// The cause must arrive before its consequence, however slow another node is.
TEST(JobEngine, StartErrorDoesNotWaitForOthers) {
  Cluster c(7, 2);
  c.node(2).auto_start = false;
  c.node(5).auto_start = false;
  c.Launch(MakeJob(Agents(0, 6), 1));
  c.Run();
  c.node(5).alive = {5};
  c.Do(5, [&](JobEngine& e, Actions* a) {
    e.OnLocalStarted(c.now, {"job", 1, kErrProcFailedToStart, "no memory"}, a);
  });
  c.Exit(5, Exited(127));
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnding);
  EXPECT_EQ(c.Last().text, "node5: no memory");
  c.node(2).alive = {2};
  c.Do(2, [&](JobEngine& e, Actions* a) {
    e.OnLocalStarted(c.now, {"job", 1, 0, ""}, a);
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrProcFailedToStart);
  c.ExpectClean();
}

TEST(JobEngine, StartErrorWithoutAnyProcess) {
  Cluster c(1, 2);
  c.node(0).auto_start = false;
  c.Launch(MakeJob({0}, 4));
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnLocalStarted(c.now, {"job", 0, kErrSysLimitsFiles, "too few files"}, a);
  });
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrSysLimitsFiles);
  c.ExpectClean();
}

TEST(JobEngine, FirstFailingRankDecides) {
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

TEST(JobEngine, SignalGives128AndItsName) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  c.Do(2, [&](JobEngine& e, Actions* a) {
    c.node(2).alive.erase(5);
    e.OnLocalExits(c.now, {"job", {{5, SIGSEGV, true, true, false}}}, a);
  });
  c.Do(2, [&](JobEngine& e, Actions* a) {
    e.OnLocalOutput(c.now, {"job", 5, 2, Bytes()}, a);
    e.OnLocalOutput(c.now, {"job", 5, 4, Bytes()}, a);
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

TEST(JobEngine, EndWithoutFinalizeIsAFailure) {
  Cluster c(1, 2);
  c.Launch(MakeJob({0}, 2));
  c.Exit(1, 0, true, false);
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrProcTermWoSync);
  EXPECT_EQ(c.Last().exit_code, 1);
  EXPECT_EQ(c.Last().first_failed, 1u);
  c.ExpectClean();
}

TEST(JobEngine, ProcessThatNeverInitializesMayJustEnd) {
  Cluster c(1, 2);
  c.Launch(MakeJob({0}, 2));
  c.Exit(0, 0);
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  c.Exit(1, 0);
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 0);
}

TEST(JobEngine, WaitsForAllOutput) {
  Cluster c(2, 2);
  c.Launch(MakeJob({1}, 1));
  c.Run();
  c.node(1).alive.clear();
  const auto output = [&](uint16_t channel, std::string text) {
    c.Do(1, [&](JobEngine& e, Actions* a) {
      e.OnLocalOutput(c.now, {"job", 0, channel, Bytes(text)}, a);
    });
    c.Run();
  };
  output(2, "hello");
  c.Do(1, [&](JobEngine& e, Actions* a) {
    e.OnLocalExits(c.now, {"job", {{0, 0, false, false, false}}}, a);
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  EXPECT_EQ(c.Last().procs_ended, 1u);
  output(4, "");
  output(2, "late");
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  output(2, "");
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  std::string text;
  for (const DeliverOutput& d : c.Seen<DeliverOutput>(0)) {
    text += d.data.view();
  }
  EXPECT_EQ(text, "hellolate");
  c.ExpectClean();
}

TEST(JobEngine, MergedJobHasOneStream) {
  Cluster c(1, 2);
  auto job = MakeJob({0}, 1);
  job->merge_stderr = true;
  c.Launch(job);
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnLocalExits(c.now, {"job", {{0, 0, false, false, false}}}, a);
    e.OnLocalOutput(c.now, {"job", 0, 2, Bytes()}, a);
  });
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
}

TEST(JobEngine, OutputCreditGoesToTheRanksNode) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 1));
  c.Run();
  for (const Rank rank : {0u, 2u}) {
    c.Do(0, [&](JobEngine& e, Actions* a) {
      e.OnOutputConsumed(c.now, {"job", rank, 100 + rank}, a);
    });
  }
  c.Run();
  ASSERT_EQ(c.Seen<CreditOutput>(0).size(), 1u);
  EXPECT_EQ(c.Seen<CreditOutput>(0)[0].bytes, 100u);
  EXPECT_TRUE(c.Seen<CreditOutput>(1).empty());
  ASSERT_EQ(c.Seen<CreditOutput>(2).size(), 1u);
  EXPECT_EQ(c.Seen<CreditOutput>(2)[0].bytes, 102u);
}

// A stream that something holds open after its process is not waited for.
TEST(JobEngine, StuckOutputDoesNotKeepTheJob) {
  Cluster c(2, 2);
  c.Launch(MakeJob({1}, 1));
  c.Run();
  c.node(1).alive.clear();
  c.Do(1, [&](JobEngine& e, Actions* a) {
    e.OnLocalExits(c.now, {"job", {{0, 0, false, false, false}}}, a);
  });
  c.Run();
  const auto tick = [&] {
    c.now = c.engine(0).NextDeadline();
    ASSERT_NE(c.now, kNever);
    c.Do(0, [&](JobEngine& e, Actions* a) { e.OnTick(c.now, a); });
    c.Run();
  };
  // Unread output: as long as the reader is slow, nothing is taken for stuck.
  c.Do(1, [&](JobEngine& e, Actions* a) {
    e.OnLocalOutput(c.now, {"job", 0, 2, Bytes("x")}, a);
  });
  c.Run();
  for (int i = 0; i < 5; ++i) tick();
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnOutputConsumed(c.now, {"job", 0, 1}, a);
  });
  tick();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 0);
  c.ExpectClean();
}

TEST(JobEngine, TimeLimit) {
  Cluster c(3, 2);
  auto job = MakeJob(Agents(0, 2), 1);
  job->timeout_seconds = 10;
  c.Launch(job);
  c.Run();
  c.Exit(1, 0);
  c.Run();
  EXPECT_EQ(c.engine(0).NextDeadline(), 1000 + 10 * kSecond);
  c.Do(0, [&](JobEngine& e, Actions* a) { e.OnTick(1000 + 9 * kSecond, a); });
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  EXPECT_FALSE(c.Last().out_of_time);
  c.Do(0, [&](JobEngine& e, Actions* a) { e.OnTick(1000 + 10 * kSecond, a); });
  // Whoever could tell what the job waits for does not.
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  EXPECT_TRUE(c.Last().out_of_time);
  EXPECT_EQ(c.engine(0).NextDeadline(), 1000 + 12 * kSecond);
  c.Do(0, [&](JobEngine& e, Actions* a) { e.OnTick(1000 + 12 * kSecond, a); });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrTimeout);
  EXPECT_EQ(c.Last().exit_code, 110);
  EXPECT_EQ(c.Last().text,
            "the job ran into its time limit of 10 seconds; ranks 0,2 had not "
            "ended");
  c.ExpectClean();
}

TEST(JobEngine, TheReportOfATimeLimitSaysWhatWasWaitedFor) {
  Cluster c(2, 2);
  auto job = MakeJob(Agents(0, 1), 1);
  job->timeout_seconds = 10;
  c.Launch(job);
  c.Run();
  c.Do(0, [&](JobEngine& e, Actions* a) { e.OnTick(1000 + 10 * kSecond, a); });
  EXPECT_TRUE(c.Last().out_of_time);
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnKillRequested(c.now, {"job", kErrTimeout, "a fence waits"}, a);
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

TEST(JobEngine, KillRequestWhileRunning) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnKillRequested(c.now, {"job", 0, "the caller went away"}, a);
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrJobKilledByCmd);
  EXPECT_EQ(c.Last().exit_code, 143);
  EXPECT_EQ(c.Last().text, "the caller went away");
  c.ExpectClean();
}

TEST(JobEngine, SecondKillRequestDoesNotWait) {
  Cluster c(2, 2);
  c.node(1).auto_kill = false;
  c.Launch(MakeJob({1}, 2));
  c.Run();
  for (int i = 0; i < 2; ++i) {
    c.Do(0, [&](JobEngine& e, Actions* a) {
      e.OnKillRequested(c.now, {"job", 0, ""}, a);
    });
    c.Run();
  }
  EXPECT_EQ(c.Seen<KillLocal>(1).size(), 1u);
  ASSERT_EQ(c.Seen<SignalLocal>(1).size(), 1u);
  EXPECT_EQ(c.Seen<SignalLocal>(1)[0].signal, SIGKILL);
}

TEST(JobEngine, AKillRequestMayMeanAtOnce) {
  Cluster c(2, 2);
  c.node(1).auto_kill = false;
  c.Launch(MakeJob({1}, 2));
  c.Run();
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnKillRequested(c.now, {"job", 0, "now", true}, a);
  });
  c.Run();
  ASSERT_EQ(c.Seen<SignalLocal>(1).size(), 1u);
  EXPECT_EQ(c.Seen<SignalLocal>(1)[0].signal, SIGKILL);
}

TEST(JobEngine, KillRequestWhilePreparing) {
  Cluster c(3, 2);
  c.node(2).auto_prepare = false;
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kPreparing);
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnKillRequested(c.now, {"job", kErrJobCanceled, "interrupted"}, a);
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrJobCanceled);
  c.ExpectClean();
  // The late answer meets nothing.
  c.Do(2, [&](JobEngine& e, Actions* a) {
    e.OnLocalPrepared(c.now, {"job", 0, ""}, a);
  });
  EXPECT_TRUE(c.Seen<StartLocal>(2).empty());
}

TEST(JobEngine, KillWhileStartingReachesLateProcesses) {
  Cluster c(2, 2);
  c.node(1).auto_start = false;
  c.Launch(MakeJob({0, 1}, 1));
  c.Run();
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnKillRequested(c.now, {"job", 0, ""}, a);
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnding);
  c.node(1).alive = {1};
  c.Do(1, [&](JobEngine& e, Actions* a) {
    e.OnLocalStarted(c.now, {"job", 1, 0, ""}, a);
  });
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  c.ExpectClean();
}

TEST(JobEngine, SignalsGoToTheRanksNamed) {
  Cluster c(4, 2);
  c.Launch(MakeJob(Agents(0, 3), 2));
  c.Run();
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnSignalRequested(c.now, {"job", SIGUSR1, {1, 7}}, a);
  });
  c.Run();
  ASSERT_EQ(c.Seen<SignalLocal>(0).size(), 1u);
  EXPECT_EQ(c.Seen<SignalLocal>(0)[0].ranks, std::vector<Rank>{1});
  EXPECT_TRUE(c.Seen<SignalLocal>(1).empty());
  EXPECT_TRUE(c.Seen<SignalLocal>(2).empty());
  ASSERT_EQ(c.Seen<SignalLocal>(3).size(), 1u);
  EXPECT_EQ(c.Seen<SignalLocal>(3)[0].ranks, std::vector<Rank>{7});
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnSignalRequested(c.now, {"job", SIGUSR2, {}}, a);
  });
  c.Run();
  for (NodeId n = 0; n < 4; ++n) {
    EXPECT_EQ(c.Seen<SignalLocal>(n).back().signal, SIGUSR2);
    EXPECT_TRUE(c.Seen<SignalLocal>(n).back().ranks.empty());
  }
}

TEST(JobEngine, AbortEndsTheWholeJob) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnAbort(c.now, {{"job", 2}, 9, "matrix is\nsingular\n", {}}, a);
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

TEST(JobEngine, AbortStatusOutsideExitCodesGivesOne) {
  for (const int status : {-25, 0, 256, 1 << 20}) {
    Cluster c(1, 2);
    c.Launch(MakeJob({0}, 1));
    c.Do(0, [&](JobEngine& e, Actions* a) {
      e.OnAbort(c.now, {{"job", 0}, status, "", {{"job", kRankWildcard}}}, a);
    });
    EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
    EXPECT_EQ(c.Last().exit_code, 1) << status;
  }
}

TEST(JobEngine, AbortOfSomeRanksLeavesTheOthers) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 2));
  c.Run();
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnAbort(c.now, {{"job", 0}, 5, "", {{"job", 1}, {"job", 4}}}, a);
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

TEST(JobEngine, FailureAfterPartialAbortStillEndsTheRest) {
  Cluster c(1, 2);
  c.Launch(MakeJob({0}, 4));
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnAbort(c.now, {{"job", 0}, 5, "", {{"job", 1}}}, a);
  });
  c.Exit(2, Exited(8));
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 5);
  c.ExpectClean();
}

TEST(JobEngine, LostNodeEndsTheJob) {
  Cluster c(5, 2);
  c.Launch(MakeJob(Agents(0, 4), 2));
  c.Run();
  c.LoseNode(1);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrNodeDown);
  EXPECT_EQ(c.Last().exit_code, 1);
  EXPECT_EQ(c.Last().text,
            "node node1 was lost (connection closed) with ranks 2-3");
  EXPECT_EQ(c.Last().procs_ended, 10u);
  c.ExpectClean();
}

TEST(JobEngine, NodeLostInEveryPhaseEndsTheJob) {
  for (const bool preparing : {true, false}) {
    Cluster c(5, 2);
    (preparing ? c.node(4).auto_prepare : c.node(4).auto_start) = false;
    c.Launch(MakeJob(Agents(0, 4), 1));
    c.Run();
    c.LoseNode(4);
    c.Run();
    EXPECT_EQ(c.Last().phase, JobPhase::kEnded) << preparing;
    EXPECT_EQ(c.Last().status, kErrNodeDown);
    c.ExpectClean();
  }
}

// Agent 1 has no rank: its death must not be noticed, whatever it was doing.
TEST(JobEngine, LostAgentBetweenIsInvisible) {
  for (int when = 0; when < 60; ++when) {
    Cluster c(5, 2);
    c.Launch(MakeJob({0, 3, 4}, 2));
    int step = 0;
    bool lost = false;
    const auto lose = [&] {
      if (!std::exchange(lost, true)) c.LoseNode(1);
    };
    const auto run = [&] {
      while (!c.network_.empty()) {
        if (step++ == when) lose();
        if (c.network_.empty()) break;
        PeerMessage m = std::move(c.network_.front());
        c.network_.pop_front();
        if (c.node(m.dst).dead || c.node(m.src).dead) continue;
        c.Do(m.dst, [&](JobEngine& e, Actions* a) { e.OnPeer(c.now, m, a); });
      }
    };
    run();
    for (Rank r = 0; r < 6; ++r) {
      c.Exit(r, 0, true, true);
      run();
    }
    lose();
    run();
    // Credit for the routed output that died with agent 1 is the overlay's.
    EXPECT_EQ(c.Last().phase, JobPhase::kEnded) << when;
    EXPECT_EQ(c.Last().exit_code, 0) << when << c.Last().text;
    c.ExpectClean();
  }
}

// Messages of different links overtake each other, nodes die and are noticed at
// different times, ranks end in every way: the job always ends, and nothing of
// it is left anywhere.
// Node 3 was cut off and is back, which its parent 1 does not know when the job
// comes: it takes 3 for lost only then. The controller, for which 3 never was
// away, must hear of it.
TEST(JobEngine, ALossThatOnlyAnAgentBetweenSeesEndsTheJob) {
  Cluster c(7, 2);
  c.node(1).auto_prepare = false;
  c.node(3).auto_prepare = false;
  c.Launch(MakeJob(Agents(0, 4), 1));
  c.Run();
  c.Hear(1, 3);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrNodeDown);
  EXPECT_NE(c.Last().text.find("node3 was lost"), std::string::npos);
  EXPECT_NE(c.Last().text.find("rank 3"), std::string::npos);
}

// 3 was cut off and has ended its ranks; then an order comes that its parent
// gave in between.
TEST(JobEngine, ALateOrderStartsNothingAgain) {
  Cluster c(7, 2);
  const auto job = MakeJob({3}, 1);
  const auto order = [&] {
    const JobPrepare prepare{Bytes(EncodeJobSpec(*job)), 0, {}};
    for (const MessageBody& body :
         {MessageBody(prepare), MessageBody(JobStart{"job"})}) {
      c.Do(3, [&](JobEngine& e, Actions* a) {
        e.OnPeer(c.now, {1, 3, body}, a);
      });
    }
  };
  order();
  EXPECT_EQ(c.Seen<StartLocal>(3).size(), 1u);
  c.Hear(3, 0);
  EXPECT_EQ(c.engine(3).num_jobs(), 0u);
  c.node(3).tree->SetAlive(0, true);
  c.network_.clear();
  order();
  EXPECT_EQ(c.Seen<StartLocal>(3).size(), 1u);
  // Whoever ordered it learns that the rank is gone.
  const bool told = std::ranges::any_of(c.network_, [](const PeerMessage& m) {
    const auto* exits = std::get_if<JobExits>(&m.body);
    return m.dst == 1 && exits != nullptr && exits->exits.size() == 1 &&
           exits->exits[0].wait_status == kLostWithNode;
  });
  EXPECT_TRUE(told);
  EXPECT_EQ(c.engine(3).num_jobs(), 0u);
}

// 2 gets a part from 1, which it does not see above itself.
TEST(JobEngine, APartFromElsewhereIsKeptUntilItsSenderSaysThatTheJobIsOver) {
  Cluster c(7, 2);
  const auto job = MakeJob({5}, 1);
  const JobPrepare prepare{Bytes(EncodeJobSpec(*job)), 0, {}};
  c.Do(2, [&](JobEngine& e, Actions* a) {
    EXPECT_TRUE(e.KeepsForLater(1, 0));
    EXPECT_TRUE(e.OnPeer(c.now, {1, 2, prepare}, a));
  });
  EXPECT_EQ(c.engine(2).num_jobs(), 1u);
  ASSERT_EQ(c.network_.size(), 1u);
  EXPECT_EQ(c.network_[0].dst, 1u);
  EXPECT_TRUE(std::holds_alternative<JobExits>(c.network_[0].body));
  // 1 does not know it and asks the root, which does not either.
  c.Run();
  EXPECT_EQ(c.engine(2).num_jobs(), 0u);
  EXPECT_EQ(c.engine(1).num_jobs(), 0u);
}

TEST(JobEngine, APartThatWasKeptIsLookedAtAgainWhenTheTreeChanges) {
  Cluster c(7, 2);
  const auto job = MakeJob({5}, 1);
  const JobPrepare prepare{Bytes(EncodeJobSpec(*job)), 1, {}};
  Actions actions;
  JobEngine& engine = c.engine(2);
  EXPECT_TRUE(engine.OnPeer(c.now, {1, 2, prepare}, &actions));
  EXPECT_TRUE(engine.OnPeer(c.now, {1, 2, JobStart{"job"}}, &actions));
  EXPECT_TRUE(engine.TakeKept().empty());
  c.Hear(2, 0);
  EXPECT_FALSE(engine.KeepsForLater(1, 1));
  const std::vector<PeerMessage> kept = engine.TakeKept();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<JobPrepare>(kept[0].body));
  EXPECT_TRUE(std::holds_alternative<JobStart>(kept[1].body));
  EXPECT_TRUE(engine.TakeKept().empty());
}

TEST(JobEngine, RandomHistoriesEnd) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) {
      return static_cast<uint32_t>(random() % n);
    };
    const uint32_t size = 2 + below(9);
    Cluster c(size, 2 + below(3));
    std::vector<NodeId> agents;
    for (NodeId n = 0; n < size; ++n) {
      if (below(3) > 0) agents.push_back(n);
    }
    if (agents.empty()) agents.push_back(size - 1);
    const uint32_t per_node = 1 + below(3);
    std::vector<std::pair<NodeId, NodeId>> unheard;  // who, of whom
    const bool failures = below(2) == 0;
    c.Launch(MakeJob(agents, per_node));
    const auto procs = static_cast<uint32_t>(agents.size() * per_node);
    for (int step = 0; step < 4000; ++step) {
      const bool quiet = c.network_.empty() && unheard.empty();
      if (quiet && c.Last().phase == JobPhase::kEnded) break;
      const uint32_t what = below(100);
      if (what < 70 && !c.network_.empty()) {
        // The first message of some link.
        const PeerMessage& any = c.network_[below(c.network_.size())];
        const auto first =
            std::ranges::find_if(c.network_, [&](const PeerMessage& m) {
              return m.src == any.src && m.dst == any.dst;
            });
        const PeerMessage m = *first;
        c.network_.erase(first);
        if (c.node(m.dst).dead || c.node(m.src).dead) continue;
        c.Do(m.dst, [&](JobEngine& e, Actions* a) { e.OnPeer(c.now, m, a); });
      } else if (what < 80 && !unheard.empty()) {
        const size_t i = below(unheard.size());
        const auto [who, lost] = unheard[i];
        unheard.erase(unheard.begin() + static_cast<long>(i));
        c.Hear(who, lost);
      } else if (what < 97) {
        const bool ill = failures && below(10) == 0;
        c.Exit(below(procs), ill ? Exited(3) : 0, true, true);
      } else if (what == 97 && failures && size > 2) {
        const NodeId lost = 1 + below(size - 1);
        if (std::exchange(c.node(lost).dead, true)) continue;
        for (NodeId n = 0; n < size; ++n) unheard.emplace_back(n, lost);
      } else if (what == 98 && failures && below(20) == 0) {
        c.Do(0, [&](JobEngine& e, Actions* a) {
          e.OnKillRequested(c.now, {"job", 0, "enough"}, a);
        });
      } else if (c.engine(0).NextDeadline() != kNever) {
        c.now = c.engine(0).NextDeadline();
        c.Do(0, [&](JobEngine& e, Actions* a) { e.OnTick(c.now, a); });
      }
    }
    for (const auto& [who, lost] : unheard) c.Hear(who, lost);
    c.Run();
    EXPECT_EQ(c.Last().phase, JobPhase::kEnded) << "seed " << seed;
    EXPECT_TRUE(failures || c.Last().exit_code == 0) << "seed " << seed;
    c.ExpectClean();
    if (HasFailure()) break;
  }
}

TEST(JobEngine, LostControllerLeavesNothingRunning) {
  Cluster c(5, 2);
  c.Launch(MakeJob(Agents(0, 4), 2));
  c.Run();
  c.LoseNode(0);
  c.Run();
  c.ExpectClean();
}

TEST(JobEngine, RestartedAgentsGoOn) {
  for (const uint32_t radix : {2u, 32u}) {
    for (const NodeId restarted : {1u, 2u, 6u}) {
      SCOPED_TRACE(restarted);
      Cluster c(7, radix);
      c.Launch(MakeJob(Agents(0, 6), 2));
      c.Run();
      c.Restart(restarted);
      c.Run();
      EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
      // Ends that happen while the news of them is lost.
      c.Exit(0, 0, true, true);
      c.Exit(13, 0, true, true);
      c.Restart(restarted);
      c.Run();
      ExitAll(c, 14);
      EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
      EXPECT_EQ(c.Last().exit_code, 0);
      EXPECT_EQ(c.Last().procs_ended, 14u);
      for (NodeId n = 0; n < 7; ++n) {
        EXPECT_EQ(c.node(n).table->Find("job"), nullptr) << n;
      }
    }
  }
}

TEST(JobEngine, RestartedAgentBetweenLearnsOfTheJob) {
  Cluster c(7, 2);
  c.Launch(MakeJob({3, 4, 6}, 1));
  c.Run();
  // An end on its way through the agent that is restarted.
  c.Exit(0, 0, true, true);
  c.Restart(1);
  c.Run();
  EXPECT_EQ(c.Last().procs_ended, 1u);
  c.Exit(1, Exited(5), true, true);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 5);
}

TEST(JobEngine, OnlyTheControllerSaysThatAJobIsOver) {
  Cluster c(7, 2);
  // Agent 1 has never heard of it; agent 0 would know.
  c.Do(1, [&](JobEngine& e, Actions* a) {
    e.OnPeer(c.now, {3, 1, JobPrepared{"job", 1, {}}}, a);
  });
  EXPECT_TRUE(Sent<JobForget>(c.node(1).seen).empty());
  c.Run();
  const auto told = Sent<JobForget>(c.node(1).seen);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, 3u);
}

TEST(JobEngine, OutputThatComesTwiceOrTooEarlyIsLeftOut) {
  Cluster c(3, 2);
  c.Launch(MakeJob({1}, 1));
  c.Run();
  const auto from = [&](const std::string& text, uint64_t end) {
    c.Do(0, [&](JobEngine& e, Actions* a) {
      e.OnPeer(c.now,
               {1, 0, OutputData{"job", 0, 2, Bytes(std::string(text)), end}},
               a);
    });
  };
  from("abc", 3);
  from("ghi", 9);
  from("bcdef", 6);
  from("abc", 3);
  from("ghi", 9);
  std::string text;
  for (const DeliverOutput& out : c.Seen<DeliverOutput>(0)) {
    text += out.data.view();
  }
  EXPECT_EQ(text, "abcdefghi");
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnOutputConsumed(c.now, {"job", 0, 5}, a);
    e.OnOutputConsumed(c.now, {"job", 0, 2}, a);
    e.OnNodeRestarted(c.now, 1, a);
  });
  const auto credit = Sent<OutputCredit>(c.node(0).seen);
  ASSERT_EQ(credit.size(), 3u);
  EXPECT_EQ(credit[2].second.total, 7u);
}

TEST(JobEngine, OutputThatComesAgainIsCreditedAgain) {
  Cluster c(3, 2);
  c.Launch(MakeJob({1}, 1));
  c.Run();
  const OutputData output{"job", 0, 2, Bytes(std::string("abc")), 3};
  const auto comes = [&] {
    c.Do(0, [&](JobEngine& e, Actions* a) {
      e.OnPeer(c.now, {1, 0, output}, a);
    });
  };
  comes();
  comes();
  EXPECT_TRUE(Sent<OutputCredit>(c.node(0).seen).empty());
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnOutputConsumed(c.now, {"job", 0, 3}, a);
  });
  // The credit was lost, or the agent would not say it again.
  comes();
  const auto credit = Sent<OutputCredit>(c.node(0).seen);
  ASSERT_EQ(credit.size(), 2u);
  EXPECT_EQ(credit[1].second.bytes, 0u);
  EXPECT_EQ(credit[1].second.total, 3u);
}

TEST(JobEngine, OutputIsSaidAgainWhenAnyAgentOnItsWayIsLost) {
  for (const NodeId lost : {1u, 3u}) {
    SCOPED_TRACE(lost);
    Cluster c(15, 2);
    c.Launch(MakeJob({0, 7}, 1));
    c.Run();
    c.LoseNode(6);
    EXPECT_TRUE(c.Seen<ResendOutput>(7).empty());
    c.LoseNode(lost);
    EXPECT_EQ(c.Seen<ResendOutput>(7).size(), 1u);
    EXPECT_TRUE(c.Seen<ResendOutput>(0).empty());
  }
}

TEST(JobEngine, OutputIsSaidAgainWhenTheNewParentAsksFirst) {
  Cluster c(7, 2);
  c.Launch(MakeJob({0, 3}, 1));
  c.Run();
  c.Hear(0, 1);
  c.Run();
  c.LoseNode(1);
  EXPECT_EQ(c.Seen<ResendOutput>(3).size(), 1u);
}

TEST(JobEngine, InputGoesToTheRankAndComesBackAsCredit) {
  Cluster c(3, 2);
  auto job = MakeJob(Agents(0, 2), 2);
  job->stdin_rank = 4;
  c.node(2).auto_start = false;
  c.Launch(job);
  c.Run();
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnInputOffered(c.now, {"job", Bytes("early")}, a);
  });
  c.Run();
  EXPECT_TRUE(c.Seen<FeedInput>(2).empty());
  c.node(2).alive = {4, 5};
  c.Do(2, [&](JobEngine& e, Actions* a) {
    e.OnLocalStarted(c.now, {"job", 2, 0, ""}, a);
  });
  c.Run();
  ASSERT_EQ(c.Seen<FeedInput>(2).size(), 1u);
  EXPECT_EQ(c.Seen<FeedInput>(2)[0].data.view(), "early");
  EXPECT_EQ(c.Seen<FeedInput>(2)[0].ranks, std::vector<Rank>{4});
  c.Do(2, [&](JobEngine& e, Actions* a) {
    e.OnLocalInputDone(c.now, {"job", 3}, a);
  });
  c.Run();
  ASSERT_EQ(c.Seen<InputConsumed>(0).size(), 1u);
  EXPECT_EQ(c.Seen<InputConsumed>(0)[0].bytes, 3u);
  // The rank ends without reading the rest.
  c.Exit(4, 0);
  c.Run();
  ASSERT_EQ(c.Seen<InputConsumed>(0).size(), 2u);
  EXPECT_EQ(c.Seen<InputConsumed>(0)[1].bytes, 2u);
}

TEST(JobEngine, InputToAllIsConsumedByTheSlowest) {
  Cluster c(4, 2);
  auto job = MakeJob(Agents(0, 3), 2);
  job->stdin_target = StdinTarget::kAll;
  c.Launch(job);
  c.Run();
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnInputOffered(c.now, {"job", Bytes("12345678")}, a);
  });
  c.Run();
  for (NodeId n = 0; n < 4; ++n) {
    ASSERT_EQ(c.Seen<FeedInput>(n).size(), 1u);
    EXPECT_EQ(c.Seen<FeedInput>(n)[0].ranks,
              (std::vector<Rank>{2 * n, 2 * n + 1}));
  }
  for (const NodeId n : {0u, 1u, 3u}) {
    c.Do(n, [&](JobEngine& e, Actions* a) {
      e.OnLocalInputDone(c.now, {"job", 8}, a);
    });
  }
  c.Run();
  EXPECT_TRUE(c.Seen<InputConsumed>(0).empty());
  c.Do(2, [&](JobEngine& e, Actions* a) {
    e.OnLocalInputDone(c.now, {"job", 5}, a);
  });
  c.Run();
  ASSERT_EQ(c.Seen<InputConsumed>(0).size(), 1u);
  EXPECT_EQ(c.Seen<InputConsumed>(0)[0].bytes, 5u);
}

TEST(JobEngine, InputToNobodyIsConsumedAtOnce) {
  Cluster c(1, 2);
  auto job = MakeJob({0}, 1);
  job->stdin_target = StdinTarget::kNone;
  c.Launch(job);
  c.Do(0, [&](JobEngine& e, Actions* a) {
    e.OnInputOffered(c.now, {"job", Bytes("1234")}, a);
  });
  EXPECT_TRUE(c.Seen<FeedInput>(0).empty());
  ASSERT_EQ(c.Seen<InputConsumed>(0).size(), 1u);
  EXPECT_EQ(c.Seen<InputConsumed>(0)[0].bytes, 4u);
}

TEST(JobEngine, LaunchIsRefusedWithAnEnd) {
  Cluster c(3, 2);
  c.LoseNode(2);
  c.Launch(MakeJob(Agents(0, 2), 1));
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().status, kErrNodeDown);
  EXPECT_EQ(c.Last().text, "no agent is up on node node2");
  EXPECT_TRUE(c.network_.empty());
  c.Do(1, [&](JobEngine& e, Actions* a) {
    e.OnLaunchRequested(c.now, {MakeJob({1}, 1)}, a);
  });
  ASSERT_EQ(c.Seen<JobChanged>(1).size(), 1u);
  EXPECT_EQ(c.Seen<JobChanged>(1)[0].status, kErrNotSupported);
}

TEST(JobEngine, NonsenseFromPeersIsIgnored) {
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
      JobKill{"job", {}, 0, ""},
      JobStarted{"other", 3, {}},
  };
  for (const MessageBody& body : bodies) {
    c.Do(0, [&](JobEngine& e, Actions* a) {
      EXPECT_TRUE(e.OnPeer(c.now, {1, 0, body}, a));
    });
  }
  EXPECT_EQ(c.Seen<JobChanged>(0).size(), before);
  c.network_.clear();
  Actions none;
  EXPECT_FALSE(c.engine(0).OnPeer(c.now, {1, 0, StateQuery{}}, &none));
  ExitAll(c, 2);
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 0);
}

TEST(JobText, Ranks) {
  EXPECT_EQ(DescribeRanks(std::vector<Rank>{3}), "rank 3");
  EXPECT_EQ(DescribeRanks(std::vector<Rank>{0, 1, 2, 7}), "ranks 0-2,7");
  EXPECT_EQ(DescribeRanks(std::vector<Rank>{0, 2, 4, 6, 8, 10}),
            "ranks 0,2,4,6 and 2 more");
}

TEST(JobText, OneLine) {
  EXPECT_EQ(OneLine("a\tb\nc \n"), "a b c");
  EXPECT_EQ(OneLine(std::string(600, 'x')), std::string(512, 'x') + "...");
}

TEST(JobText, NodeErrorWithoutText) {
  EXPECT_EQ(DescribeNodeError({1, -29, ""}, "n1", 1),
            "n1: failed with status -29 (and 1 more node with errors)");
}

}  // namespace
}  // namespace canopy::core
