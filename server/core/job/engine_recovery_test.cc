// Tests that restart the agent that controls a job, at every step of the job's
// life.
#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/job/engine_testing.h"

namespace canopy::core {
namespace {

class ControllerRestart : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kNodes = 5;

  std::unique_ptr<Cluster> Make() const {
    auto c = std::make_unique<Cluster>(kNodes, GetParam());
    for (NodeId n = 0; n < kNodes; ++n) c->engine(n).set_persists(true);
    return c;
  }
  // Makes the launcher reattach. The launcher has received no output yet, and
  // offers input from `input_begin` on.
  static void BringCaller(Cluster& c,
                          std::optional<uint64_t> input_begin = {}) {
    c.Do(0, [&](JobEngine& e, const StepContext& step) {
      e.OnLauncherReattached(
          step,
          {"job", std::vector<uint64_t>(kNodes, uint64_t{0}), input_begin});
    });
  }
  static void Attach(Cluster& c) {
    BringCaller(c);
    c.Run();
    // Shims report again which streams have ended.
    for (NodeId n = 0; n < kNodes; ++n) {
      for (const Rank rank : c.node(n).local) {
        if (!c.node(n).started || c.node(n).alive.contains(rank)) continue;
        for (const uint16_t channel : {2, 4}) {
          c.Do(n, [=, &c](JobEngine& e, const StepContext& step) {
            e.OnLocalOutput(step, {"job", rank, channel, Bytes()});
          });
        }
      }
    }
    c.Run();
  }
  // Delivers up to `steps` messages.
  static bool Steps(Cluster& c, size_t steps) {
    std::deque<PeerMessage> rest;
    for (size_t i = 0; i < steps; ++i) {
      if (c.network_.empty()) return false;
      PeerMessage message = std::move(c.network_.front());
      c.network_.pop_front();
      c.Do(message.dst, [&](JobEngine& e, const StepContext& step) {
        e.OnPeer(step, message);
      });
    }
    return true;
  }
  static void ExpectOver(Cluster& c, int exit_code) {
    EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
    EXPECT_EQ(c.Last().exit_code, exit_code) << c.Last().text;
    for (NodeId n = 0; n < kNodes; ++n) {
      EXPECT_TRUE(c.node(n).alive.empty()) << n;
      EXPECT_EQ(c.engine(n).num_jobs(), 0u) << n;
    }
  }
};

TEST_P(ControllerRestart, TheLaunchContinuesAfterARestart) {
  for (size_t step = 0;; ++step) {
    SCOPED_TRACE("after " + std::to_string(step) + " messages");
    const auto c = Make();
    c->Launch(MakeJob(Agents(0, kNodes - 1), 2));
    const bool more = Steps(*c, step);
    c->Restart(0);
    c->Run();
    EXPECT_NE(c->Last().phase, JobPhase::kEnded) << c->Last().text;
    Attach(*c);
    EXPECT_EQ(c->Last().phase, JobPhase::kRunning);
    EXPECT_EQ(c->Last().procs_started, 2 * kNodes);
    ExitAll(*c, 2 * kNodes);
    ExpectOver(*c, 0);
    if (!more || HasFailure()) break;
  }
}

TEST_P(ControllerRestart, EndsOfRanksAreCountedDespiteARestart) {
  for (size_t step = 0;; ++step) {
    SCOPED_TRACE("after " + std::to_string(step) + " messages");
    const auto c = Make();
    c->Launch(MakeJob(Agents(0, kNodes - 1), 2));
    c->Run();
    for (Rank rank = 0; rank < 2 * kNodes; ++rank) {
      c->Exit(rank, 0, true, true);
    }
    const bool more = Steps(*c, step);
    if (c->Last().phase == JobPhase::kEnded) break;
    c->Restart(0);
    c->Run();
    Attach(*c);
    ExpectOver(*c, 0);
    if (!more || HasFailure()) break;
  }
}

TEST_P(ControllerRestart, AFailedJobEndsDespiteARestart) {
  for (size_t step = 0;; ++step) {
    SCOPED_TRACE("after " + std::to_string(step) + " messages");
    const auto c = Make();
    c->Launch(MakeJob(Agents(0, kNodes - 1), 2));
    c->Run();
    c->Exit(3, Exited(7));
    const bool more = Steps(*c, step);
    if (c->Last().phase == JobPhase::kEnded) break;
    c->Restart(0);
    c->Run();
    Attach(*c);
    ExpectOver(*c, 7);
    if (!more || HasFailure()) break;
  }
}

TEST_P(ControllerRestart, TheJobRunsOnWhileItsControllerIsRestarted) {
  const auto c = Make();
  c->Launch(MakeJob(Agents(0, kNodes - 1), 2));
  c->Run();
  c->Restart(0);
  c->Run();
  for (NodeId n = 0; n < kNodes; ++n) {
    EXPECT_EQ(c->node(n).alive.size(), 2u) << n;
    EXPECT_TRUE(c->Seen<KillLocal>(n).empty()) << n;
  }
  // The restarted controller is lost.
  c->LoseNode(0);
  c->Run();
  for (NodeId n = 1; n < kNodes; ++n) {
    EXPECT_TRUE(c->node(n).alive.empty()) << n;
  }
}

bool IsSyncComplete(const PeerMessage& message) {
  return std::holds_alternative<SyncComplete>(message.body);
}

// The root is restarted and gets a query about a job that it does not know.
class UnknownJob : public ControllerRestart {
 protected:
  std::unique_ptr<Cluster> Ask() const {
    auto c = Make();
    c->Launch(MakeJob(Agents(0, kNodes - 1), 1));
    c->Run();
    c->Restart(0);
    c->Do(0, [&](JobEngine& e, const StepContext& step) {
      e.OnPeer(step, {3, 0, JobQuery{"unknown"}});
    });
    return c;
  }
  static bool IsOver(const Cluster& c) {
    return std::ranges::any_of(c.Seen<SendPeer>(0), [](const SendPeer& send) {
      const auto* reply = std::get_if<JobQueryReply>(&send.message.body);
      return reply != nullptr && reply->nspace == "unknown" &&
             reply->verdict == JobVerdict::kNoRecord;
    });
  }
};

TEST_P(UnknownJob, AnUnknownJobIsOverWhenAllMembersHaveSynchronised) {
  const auto c = Ask();
  while (std::ranges::any_of(c->network_, IsSyncComplete)) {
    EXPECT_FALSE(IsOver(*c));
    Steps(*c, 1);
  }
  EXPECT_TRUE(IsOver(*c));
  EXPECT_EQ(c->engine(0).NextDeadline(), kNever);
}

TEST_P(UnknownJob, AnUnknownJobIsOverAfterATimeoutIfAMemberIsSilent) {
  const auto c = Ask();
  std::erase_if(c->network_, [](const PeerMessage& message) {
    return message.src == 4 && IsSyncComplete(message);
  });
  c->Run();
  EXPECT_FALSE(IsOver(*c));
  c->now = c->engine(0).NextDeadline();
  c->Do(0, [&](JobEngine& e, const StepContext& step) { e.OnTick(step); });
  EXPECT_TRUE(IsOver(*c));
  EXPECT_EQ(c->engine(0).NextDeadline(), kNever);
}

TEST_P(UnknownJob, AnUnknownJobIsOverWhenTheLastUnsyncedMemberIsLost) {
  const auto c = Ask();
  c->LoseNode(4);
  c->Run();
  EXPECT_TRUE(IsOver(*c));
}

// The return of a node has no effect on the jobs of other nodes.
TEST_P(UnknownJob, TheReturnOfANodeDoesNotEndAnUnknownJob) {
  const auto c = Ask();
  c->Do(0,
        [&](JobEngine& e, const StepContext& step) { e.OnNodeReturned(step); });
  EXPECT_FALSE(IsOver(*c));
  c->Run();
  EXPECT_TRUE(IsOver(*c));
}

TEST_P(ControllerRestart, OutputWaitsForTheLauncher) {
  const auto c = Make();
  c->Launch(MakeJob(Agents(0, kNodes - 1), 1));
  c->Run();
  const auto write = [&](NodeId n, const std::string& text, uint64_t end) {
    c->Do(n, [&](JobEngine& e, const StepContext& step) {
      e.OnLocalOutput(step, {"job", n, 2, Bytes(text), end});
    });
    c->Run();
  };
  write(0, "abc", 3);
  write(1, "uvw", 3);
  c->Restart(0);
  c->Run();
  c->node(0).seen.clear();
  write(1, "uvwxyz", 6);
  EXPECT_TRUE(c->Seen<DeliverOutput>(0).empty());
  c->node(1).seen.clear();
  c->Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnLauncherReattached(step, {"job", std::vector<uint64_t>{3, 2, 0, 0, 0}});
  });
  c->Run();
  // Nodes 0 and 1 resend the output that the launcher has not received.
  EXPECT_EQ(c->Seen<CreditOutput>(0).at(0).total, 3u);
  EXPECT_EQ(c->Seen<CreditOutput>(1).at(0).total, 2u);
  EXPECT_EQ(c->Seen<ResendOutput>(0).size(), 1u);
  EXPECT_EQ(c->Seen<ResendOutput>(1).size(), 1u);
  write(1, "wxyz", 6);
  ASSERT_EQ(c->Seen<DeliverOutput>(0).size(), 1u);
  EXPECT_EQ(c->Seen<DeliverOutput>(0)[0].data.view(), "wxyz");
}

TEST_P(ControllerRestart, OutputIsDiscardedIfTheLauncherIsGone) {
  const auto c = Make();
  c->Launch(MakeJob(Agents(0, kNodes - 1), 1));
  c->Run();
  c->Restart(0);
  c->Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnLauncherReattached(step, {"job", std::nullopt});
  });
  c->Run();
  c->node(0).seen.clear();
  c->Do(1, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalOutput(step, {"job", 1, 2, Bytes("late"), 1000});
  });
  c->Run();
  EXPECT_EQ(c->Seen<DeliverOutput>(0).size(), 1u);
  c->Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnOutputConsumed(step, {"job", 1, 4});
  });
  c->node(1).seen.clear();
  c->Run();
  EXPECT_EQ(c->Seen<CreditOutput>(1).at(0).total, 1000u);
}

TEST_P(ControllerRestart, TheJobIsNotOverBeforeItsOutputHasArrived) {
  const auto c = Make();
  c->Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnLaunchRequested(step, {MakeJob({0, 1}, 1), true});
  });
  c->Run();
  c->Do(1, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalOutput(step, {"job", 1, 2, Bytes("last"), 4});
  });
  ExitAll(*c, 2);
  EXPECT_EQ(c->Last().phase, JobPhase::kRunning);
  EXPECT_EQ(c->Seen<OutputDelivered>(0).size(), 1u);
  c->Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnOutputConsumed(step, {"job", 1, 4});
  });
  c->Run();
  ExpectOver(*c, 0);
}

// Returns, as one text, the input that was fed to the node after position
// `end`.
std::string Fed(const Cluster& c, NodeId n, uint64_t end = 0) {
  std::string text;
  for (const FeedInput& input : c.Seen<FeedInput>(n)) {
    EXPECT_GT(input.end, 0u);
    EXPECT_LE(input.end - input.data.size(), end) << "something is missing";
    if (input.end <= end) continue;
    const uint64_t known = end - (input.end - input.data.size());
    text += input.data.Slice(known, input.data.size()).view();
    end = input.end;
  }
  return text;
}

void Offer(Cluster& c, uint64_t position, const std::string& text) {
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnInputOffered(step, {"job", Bytes(text), position});
  });
}

// Makes the node's shim report how much input its ranks have consumed.
void TellInput(Cluster& c, NodeId n, uint64_t bytes, uint64_t total,
               bool again) {
  c.Do(n, [=, &c](JobEngine& e, const StepContext& step) {
    e.OnLocalInputDone(step, {"job", bytes, total, again});
  });
}

std::shared_ptr<JobSpec> JobWithInput(StdinTarget target) {
  auto job = MakeJob({0, 1, 2, 3, 4}, 1);
  job->stdin_target = target;
  job->stdin_rank = 3;
  return job;
}

class Input : public ControllerRestart {};

TEST_P(Input, InputIsResentToARestartedAgent) {
  for (const auto target : {StdinTarget::kRank, StdinTarget::kAll}) {
    const auto c = Make();
    c->Launch(JobWithInput(target));
    c->Run();
    Offer(*c, 0, "taken ");
    c->Run();
    TellInput(*c, 3, 6, 6, false);
    c->Run();
    Offer(*c, 6, "lost ");
    Offer(*c, 11, "");
    c->Restart(3);
    c->node(3).seen.clear();
    TellInput(*c, 3, 0, 6, true);
    Offer(*c, 11, "too late");
    c->Run();
    EXPECT_EQ(Fed(*c, 3, 6), "lost ");
    const FeedInput last = c->Seen<FeedInput>(3).back();
    EXPECT_EQ(last.ranks, std::vector<Rank>{3});
    EXPECT_TRUE(last.data.empty());
    EXPECT_EQ(last.end, 11u);
  }
}

TEST_P(Input, InputIsResentThroughARestartedForwardingAgent) {
  if (GetParam() != 2) GTEST_SKIP() << "nobody is between";
  const auto c = Make();
  c->Launch(JobWithInput(StdinTarget::kAll));
  c->Run();
  Offer(*c, 0, "one ");
  Steps(*c, 1);
  // Agent 1 had the input and did not forward it.
  c->network_.clear();
  c->Restart(1);
  TellInput(*c, 1, 0, 0, true);
  c->Run();
  EXPECT_EQ(Fed(*c, 3), "one ");
  EXPECT_EQ(Fed(*c, 4), "one ");
}

TEST_P(Input, InputContinuesAfterARestartOfTheController) {
  const auto c = Make();
  c->Launch(JobWithInput(StdinTarget::kAll));
  c->Run();
  Offer(*c, 0, "one ");
  c->Run();
  for (const NodeId n : {0u, 1u, 2u, 4u}) TellInput(*c, n, 4, 4, false);
  TellInput(*c, 3, 2, 2, false);
  c->Run();
  Offer(*c, 4, "two ");
  c->Restart(0);
  TellInput(*c, 0, 0, 4, true);
  c->Run();
  c->node(0).seen.clear();
  BringCaller(*c, 2);
  // Input that leaves a gap is not accepted.
  Offer(*c, 8, "three");
  Offer(*c, 0, "one ");
  Offer(*c, 4, "two ");
  Offer(*c, 8, "three");
  c->Run();
  for (NodeId n = 1; n < kNodes; ++n) EXPECT_EQ(Fed(*c, n), "one two three");
  for (NodeId n = 0; n < kNodes; ++n) TellInput(*c, n, 9, 13, false);
  c->Run();
  uint64_t consumed = 2;
  for (const auto& done : c->Seen<InputConsumed>(0)) consumed += done.bytes;
  EXPECT_EQ(consumed, 13u);
}

// The launcher resends input that, as far as it knows, was not consumed. The
// ranks do not report a second time that they have consumed it.
TEST_P(Input, InputConsumedBeforeTheReattachmentIsReportedToTheLauncher) {
  const auto c = Make();
  c->Launch(JobWithInput(StdinTarget::kAll));
  c->Run();
  Offer(*c, 0, "one ");
  c->Run();
  c->Restart(0);
  for (NodeId n = 0; n < kNodes; ++n) TellInput(*c, n, 0, 4, true);
  c->Run();
  c->node(0).seen.clear();
  BringCaller(*c, 1);
  Offer(*c, 0, "one ");
  c->Run();
  ASSERT_EQ(c->Seen<InputConsumed>(0).size(), 1u);
  EXPECT_EQ(c->Seen<InputConsumed>(0)[0].bytes, 3u);
}

// An older launcher does not report the position of its input.
TEST_P(Input, InputOfAnOlderLauncherContinuesWithoutPositions) {
  const auto c = Make();
  c->Launch(JobWithInput(StdinTarget::kRank));
  c->Run();
  c->Restart(0);
  c->Run();
  c->node(3).seen.clear();
  c->Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnLauncherReattached(step,
                           {"job", std::vector<uint64_t>(kNodes, uint64_t{0})});
    e.OnInputOffered(step, {"job", Bytes("on")});
  });
  c->Run();
  ASSERT_EQ(c->Seen<FeedInput>(3).size(), 1u);
  EXPECT_EQ(c->Seen<FeedInput>(3)[0].end, 0u);
  EXPECT_EQ(c->Seen<FeedInput>(3)[0].data.view(), "on");
}

INSTANTIATE_TEST_SUITE_P(Radix, UnknownJob, testing::Values(2u, 32u));
INSTANTIATE_TEST_SUITE_P(Radix, Input, testing::Values(2u, 32u));
INSTANTIATE_TEST_SUITE_P(Radix, ControllerRestart, testing::Values(2u, 32u));

}  // namespace
}  // namespace canopy::core
