// Tests of jobs whose agents are lost, return or are replaced.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "common/status.h"
#include "server/core/job/engine_testing.h"
#include "server/core/job/text.h"

namespace canopy::core {
namespace {

TEST(JobEngine, TheLossOfANodeEndsTheJob) {
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

TEST(JobEngine, TheLossOfANodeInEachPhaseOfTheLaunchEndsTheJob) {
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

// Agent 1 has no rank, so its loss must not affect the job, at any step.
TEST(JobEngine, ALostAgentWithoutRanksDoesNotAffectTheJob) {
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
        c.Do(m.dst,
             [&](JobEngine& e, const StepContext& step) { e.OnPeer(step, m); });
      }
    };
    run();
    for (Rank r = 0; r < 6; ++r) {
      c.Exit(r, 0, true, true);
      run();
    }
    lose();
    run();
    // The overlay resends credit for routed output that was lost with agent 1.
    EXPECT_EQ(c.Last().phase, JobPhase::kEnded) << when;
    EXPECT_EQ(c.Last().exit_code, 0) << when << c.Last().text;
    c.ExpectClean();
  }
}

// Node 3 was cut off and has returned. Its parent, agent 1, does not know that
// when the job arrives, and declares node 3 lost only then. The controller,
// which never lost 3, must learn of it.
TEST(JobEngine, ALossThatOnlyAForwardingAgentSeesEndsTheJob) {
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

// Agent 3 was cut off and has ended its ranks. After its return, an order
// arrives that its parent sent while agent 3 was cut off.
TEST(JobEngine, ALateStartDoesNotStartRanksAgain) {
  Cluster c(7, 2);
  const auto job = MakeJob({3}, 1);
  const auto order = [&] {
    const JobPrepare prepare{Bytes(EncodeJobSpec(*job)), 0, {}};
    for (const MessageBody& body :
         {MessageBody(prepare), MessageBody(JobStart{"job"})}) {
      c.Do(3, [&](JobEngine& e, const StepContext& step) {
        e.OnPeer(step, {1, 3, body});
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
  // The sender of the late order is notified that the rank is gone.
  const bool told = std::ranges::any_of(c.network_, [](const PeerMessage& m) {
    const auto* lost = std::get_if<NodeLost>(&m.body);
    return m.dst == 1 && lost != nullptr && lost->ranks.size() == 1;
  });
  EXPECT_TRUE(told);
  EXPECT_EQ(c.engine(3).num_jobs(), 0u);
}

// Agent 2 gets a part from agent 1, which is not the parent in the view of
// agent 2.
TEST(JobEngine, ADeferredPartIsDroppedWhenTheJobIsOver) {
  Cluster c(7, 2);
  const auto job = MakeJob({5}, 1);
  const JobPrepare prepare{Bytes(EncodeJobSpec(*job)), 0, {}};
  c.Do(2, [&](JobEngine& e, const StepContext& step) {
    EXPECT_TRUE(e.DefersPrepare(1, 0));
    EXPECT_TRUE(e.OnPeer(step, {1, 2, prepare}));
  });
  EXPECT_EQ(c.engine(2).num_jobs(), 1u);
  ASSERT_EQ(c.network_.size(), 1u);
  EXPECT_EQ(c.network_[0].dst, 1u);
  EXPECT_TRUE(std::holds_alternative<JobQuery>(c.network_[0].body));
  // Agent 1 does not know the job and queries the root, which does not know it
  // either.
  c.Run();
  EXPECT_EQ(c.engine(2).num_jobs(), 0u);
  EXPECT_EQ(c.engine(1).num_jobs(), 0u);
}

TEST(JobEngine, ADeferredPartIsTakenWhenTheTreeChanges) {
  Cluster c(7, 2);
  const auto job = MakeJob({5}, 1);
  const JobPrepare prepare{Bytes(EncodeJobSpec(*job)), 1, {}};
  Actions actions;
  JobEngine& engine = c.engine(2);
  EXPECT_TRUE(engine.OnPeer({c.now, actions}, {1, 2, prepare}));
  EXPECT_TRUE(engine.OnPeer({c.now, actions}, {1, 2, JobStart{"job"}}));
  CoreEvents events;
  engine.set_events(&events);
  c.Hear(2, 0);
  EXPECT_FALSE(engine.DefersPrepare(1, 1));
  const auto released = TakeAll<MessagesReleased>(&events);
  ASSERT_EQ(released.size(), 1u);
  const std::vector<PeerMessage>& kept = released[0].messages;
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<JobPrepare>(kept[0].body));
  EXPECT_TRUE(std::holds_alternative<JobStart>(kept[1].body));
}

// Messages of different links overtake each other, nodes die and are detected
// at different times, and ranks end in every way. The job must always end, and
// must leave no part or map on any node.
TEST(JobEngine, JobsEndAfterRandomFaults) {
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
    // the agent that has yet to learn of a loss, and the lost agent
    std::vector<std::pair<NodeId, NodeId>> unheard;
    const bool failures = below(2) == 0;
    c.Launch(MakeJob(agents, per_node));
    const auto procs = static_cast<uint32_t>(agents.size() * per_node);
    for (int step = 0; step < 4000; ++step) {
      const bool quiet = c.network_.empty() && unheard.empty();
      if (quiet && c.Last().phase == JobPhase::kEnded) break;
      const uint32_t what = below(100);
      if (what < 70 && !c.network_.empty()) {
        // Delivers the first message of a random link.
        const PeerMessage& any = c.network_[below(c.network_.size())];
        const auto first =
            std::ranges::find_if(c.network_, [&](const PeerMessage& m) {
              return m.src == any.src && m.dst == any.dst;
            });
        const PeerMessage m = *first;
        c.network_.erase(first);
        if (c.node(m.dst).dead || c.node(m.src).dead) continue;
        c.Do(m.dst,
             [&](JobEngine& e, const StepContext& step) { e.OnPeer(step, m); });
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
        c.Do(0, [&](JobEngine& e, const StepContext& step) {
          e.OnKillRequested(step, {"job", 0, "enough"});
        });
      } else if (c.engine(0).NextDeadline() != kNever) {
        c.now = c.engine(0).NextDeadline();
        c.Do(0, [&](JobEngine& e, const StepContext& step) { e.OnTick(step); });
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

TEST(JobEngine, TheRanksEndWhenTheControllerIsLost) {
  Cluster c(5, 2);
  c.Launch(MakeJob(Agents(0, 4), 2));
  c.Run();
  c.LoseNode(0);
  c.Run();
  c.ExpectClean();
}

TEST(JobEngine, JobsContinueWhenAgentsAreRestarted) {
  for (const uint32_t radix : {2u, 32u}) {
    for (const NodeId restarted : {1u, 2u, 6u}) {
      SCOPED_TRACE(restarted);
      Cluster c(7, radix);
      c.Launch(MakeJob(Agents(0, 6), 2));
      c.Run();
      c.Restart(restarted);
      c.Run();
      EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
      // These ranks end while the messages about their ends are lost.
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

TEST(JobEngine, ARestartedForwardingAgentLearnsOfTheJob) {
  Cluster c(7, 2);
  c.Launch(MakeJob({3, 4, 6}, 1));
  c.Run();
  // The restarted agent has an end to forward.
  c.Exit(0, 0, true, true);
  c.Restart(1);
  c.Run();
  EXPECT_EQ(c.Last().procs_ended, 1u);
  c.Exit(1, Exited(5), true, true);
  c.Run();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 5);
}

TEST(JobEngine, OnlyTheControllerReportsThatAJobIsOver) {
  Cluster c(7, 2);
  // Agent 1 has no record of the job. Only agent 0 can report that the job is
  // over.
  c.Do(1, [&](JobEngine& e, const StepContext& step) {
    e.OnPeer(step, {3, 1, JobPrepared{"job", 1, {}}});
  });
  EXPECT_TRUE(Sent<JobQueryReply>(c.node(1).seen).empty());
  c.Run();
  const auto told = Sent<JobQueryReply>(c.node(1).seen);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, 3u);
}

TEST(JobEngine, AJobEndsIfAnAgentTowardsItsControllerReportsTheEnd) {
  Cluster c(7, 2);
  c.Launch(MakeJob({3, 5}, 1));
  c.Run();
  const auto forget = [&](NodeId src) {
    c.node(3).seen.clear();
    c.Do(3, [&](JobEngine& e, const StepContext& step) {
      e.OnPeer(step, {src, 3, JobForget{"job"}});
    });
  };
  for (const NodeId stranger : {5u, 2u, 4u}) {
    forget(stranger);
    EXPECT_EQ(c.node(3).seen.size(), 1u) << stranger;
    const auto asked = Sent<JobQuery>(c.node(3).seen);
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].first, 1u);
  }
  forget(1);
  EXPECT_TRUE(Sent<JobQuery>(c.node(3).seen).empty());
  EXPECT_FALSE(c.node(3).seen.empty());
}

}  // namespace
}  // namespace canopy::core
