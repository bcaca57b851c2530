// Tests of the output and input of jobs, over a tree and after losses.
#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/job/engine_testing.h"

namespace canopy::core {
namespace {

TEST(JobEngine, AJobEndsAfterAllItsOutputHasArrived) {
  Cluster c(2, 2);
  c.Launch(MakeJob({1}, 1));
  c.Run();
  c.node(1).alive.clear();
  const auto output = [&](uint16_t channel, std::string text) {
    c.Do(1, [&](JobEngine& e, const StepContext& step) {
      e.OnLocalOutput(step, {"job", 0, channel, Bytes(text)});
    });
    c.Run();
  };
  output(2, "hello");
  c.Do(1, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalExits(step, {"job", {{0, 0, false, false, false}}});
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

TEST(JobEngine, AJobWithMergedStreamsEndsAfterOneStream) {
  Cluster c(1, 2);
  auto job = MakeJob({0}, 1);
  job->merge_stderr = true;
  c.Launch(job);
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalExits(step, {"job", {{0, 0, false, false, false}}});
    e.OnLocalOutput(step, {"job", 0, 2, Bytes()});
  });
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
}

TEST(JobEngine, OutputCreditGoesToTheRanksNode) {
  Cluster c(3, 2);
  c.Launch(MakeJob(Agents(0, 2), 1));
  c.Run();
  for (const Rank rank : {0u, 2u}) {
    c.Do(0, [&](JobEngine& e, const StepContext& step) {
      e.OnOutputConsumed(step, {"job", rank, 100 + rank});
    });
  }
  c.Run();
  ASSERT_EQ(c.Seen<CreditOutput>(0).size(), 1u);
  EXPECT_EQ(c.Seen<CreditOutput>(0)[0].bytes, 100u);
  EXPECT_TRUE(c.Seen<CreditOutput>(1).empty());
  ASSERT_EQ(c.Seen<CreditOutput>(2).size(), 1u);
  EXPECT_EQ(c.Seen<CreditOutput>(2)[0].bytes, 102u);
}

// The engine does not wait for a stream that is held open after the end of its
// process.
TEST(JobEngine, AStreamThatIsHeldOpenDoesNotPreventTheEnd) {
  Cluster c(2, 2);
  c.Launch(MakeJob({1}, 1));
  c.Run();
  c.node(1).alive.clear();
  c.Do(1, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalExits(step, {"job", {{0, 0, false, false, false}}});
  });
  c.Run();
  const auto tick = [&] {
    c.now = c.engine(0).NextDeadline();
    ASSERT_NE(c.now, kNever);
    c.Do(0, [&](JobEngine& e, const StepContext& step) { e.OnTick(step); });
    c.Run();
  };
  // Unread output shows that the reader is slow, so the stream does not count
  // as held open.
  c.Do(1, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalOutput(step, {"job", 0, 2, Bytes("x")});
  });
  c.Run();
  for (int i = 0; i < 5; ++i) tick();
  EXPECT_EQ(c.Last().phase, JobPhase::kRunning);
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnOutputConsumed(step, {"job", 0, 1});
  });
  tick();
  EXPECT_EQ(c.Last().phase, JobPhase::kEnded);
  EXPECT_EQ(c.Last().exit_code, 0);
  c.ExpectClean();
}

TEST(JobEngine, DuplicateOutputAndOutputAfterAGapAreDropped) {
  Cluster c(3, 2);
  c.Launch(MakeJob({1}, 1));
  c.Run();
  const auto from = [&](const std::string& text, uint64_t end) {
    c.Do(0, [&](JobEngine& e, const StepContext& step) {
      e.OnPeer(step,
               {1, 0, OutputData{"job", 0, 2, Bytes(std::string(text)), end}});
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
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnOutputConsumed(step, {"job", 0, 5});
    e.OnOutputConsumed(step, {"job", 0, 2});
    e.OnNodeRestarted(step, 1);
  });
  const auto credit = Sent<OutputCredit>(c.node(0).seen);
  ASSERT_EQ(credit.size(), 3u);
  EXPECT_EQ(credit[2].second.total, 7u);
}

TEST(JobEngine, ResentOutputIsCreditedAgain) {
  Cluster c(3, 2);
  c.Launch(MakeJob({1}, 1));
  c.Run();
  const OutputData output{"job", 0, 2, Bytes(std::string("abc")), 3};
  const auto comes = [&] {
    c.Do(0, [&](JobEngine& e, const StepContext& step) {
      e.OnPeer(step, {1, 0, output});
    });
  };
  comes();
  comes();
  EXPECT_TRUE(Sent<OutputCredit>(c.node(0).seen).empty());
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnOutputConsumed(step, {"job", 0, 3});
  });
  // The credit was lost; otherwise the agent would not resend the output.
  comes();
  const auto credit = Sent<OutputCredit>(c.node(0).seen);
  ASSERT_EQ(credit.size(), 2u);
  EXPECT_EQ(credit[1].second.bytes, 0u);
  EXPECT_EQ(credit[1].second.total, 3u);
}

TEST(JobEngine, OutputIsResentWhenAnAgentOnItsRouteIsLost) {
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

TEST(JobEngine, OutputIsResentAlsoIfTheNewParentIsKnownBeforeTheLoss) {
  Cluster c(7, 2);
  c.Launch(MakeJob({0, 3}, 1));
  c.Run();
  c.Hear(0, 1);
  c.Run();
  c.LoseNode(1);
  EXPECT_EQ(c.Seen<ResendOutput>(3).size(), 1u);
}

TEST(JobEngine, InputIsFedToItsRankAndCreditIsReturned) {
  Cluster c(3, 2);
  auto job = MakeJob(Agents(0, 2), 2);
  job->stdin_rank = 4;
  c.node(2).auto_start = false;
  c.Launch(job);
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnInputOffered(step, {"job", Bytes("early")});
  });
  c.Run();
  EXPECT_TRUE(c.Seen<FeedInput>(2).empty());
  c.node(2).alive = {4, 5};
  c.Do(2, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalStarted(step, {"job", 2, 0, ""});
  });
  c.Run();
  ASSERT_EQ(c.Seen<FeedInput>(2).size(), 1u);
  EXPECT_EQ(c.Seen<FeedInput>(2)[0].data.view(), "early");
  EXPECT_EQ(c.Seen<FeedInput>(2)[0].ranks, std::vector<Rank>{4});
  c.Do(2, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalInputDone(step, {"job", 3});
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

TEST(JobEngine, InputForAllRanksIsConsumedWhenTheSlowestHasReadIt) {
  Cluster c(4, 2);
  auto job = MakeJob(Agents(0, 3), 2);
  job->stdin_target = StdinTarget::kAll;
  c.Launch(job);
  c.Run();
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnInputOffered(step, {"job", Bytes("12345678")});
  });
  c.Run();
  for (NodeId n = 0; n < 4; ++n) {
    ASSERT_EQ(c.Seen<FeedInput>(n).size(), 1u);
    EXPECT_EQ(c.Seen<FeedInput>(n)[0].ranks,
              (std::vector<Rank>{2 * n, 2 * n + 1}));
  }
  for (const NodeId n : {0u, 1u, 3u}) {
    c.Do(n, [&](JobEngine& e, const StepContext& step) {
      e.OnLocalInputDone(step, {"job", 8});
    });
  }
  c.Run();
  EXPECT_TRUE(c.Seen<InputConsumed>(0).empty());
  c.Do(2, [&](JobEngine& e, const StepContext& step) {
    e.OnLocalInputDone(step, {"job", 5});
  });
  c.Run();
  ASSERT_EQ(c.Seen<InputConsumed>(0).size(), 1u);
  EXPECT_EQ(c.Seen<InputConsumed>(0)[0].bytes, 5u);
}

TEST(JobEngine, InputWithoutATargetIsConsumedAtOnce) {
  Cluster c(1, 2);
  auto job = MakeJob({0}, 1);
  job->stdin_target = StdinTarget::kNone;
  c.Launch(job);
  c.Do(0, [&](JobEngine& e, const StepContext& step) {
    e.OnInputOffered(step, {"job", Bytes("1234")});
  });
  EXPECT_TRUE(c.Seen<FeedInput>(0).empty());
  ASSERT_EQ(c.Seen<InputConsumed>(0).size(), 1u);
  EXPECT_EQ(c.Seen<InputConsumed>(0)[0].bytes, 4u);
}

}  // namespace
}  // namespace canopy::core
