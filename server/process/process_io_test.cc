// Tests output and input of processes.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "common/status.h"
#include "server/process/process_test_base.h"

namespace canopy::process {
namespace {

constexpr uint64_t kWindow = 1u << 20;

class IoTest : public ProcessTest {
 protected:
  static std::shared_ptr<JobSpec> Shell(const std::string& script,
                                        uint32_t n = 1) {
    return MakeJob({"sh", "-c", script}, n);
  }
  static ProcessText Text(Rank rank, const std::string& text,
                          const std::string& nspace = "job") {
    ProcessText out;
    out.proc = {nspace, rank};
    out.pieces = {{true, text}};
    return out;
  }
  int PutText(Rank rank, const std::string& text,
              const std::string& nspace = "job") {
    std::optional<int> answer;
    adapter_->Put(Text(rank, text, nspace),
                  [&answer](int status) { answer = status; });
    EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
    return answer.value_or(kError);
  }
  void StopCredit() { sink_.on_output = nullptr; }
  // Waits until at least `least` bytes of output have arrived and no more
  // follow for a while. Returns the amount.
  uint64_t Settle(uint64_t least) {
    EXPECT_TRUE(RunUntil([&] { return Recorded().output_bytes >= least; }));
    uint64_t seen = 0;
    int quiet = 0;
    RunUntil([&] {
      const uint64_t now = Recorded().output_bytes;
      quiet = now == seen ? quiet + 1 : 0;
      seen = now;
      return quiet > 10;
    });
    return seen;
  }
};

TEST_F(IoTest, OutputKeepsItsOrderAndContent) {
  constexpr size_t kSize = 10'000'000;
  ASSERT_TRUE(Run(MakeJob({ProbePath(), "pattern", std::to_string(kSize)}, 2)));
  for (Rank rank = 0; rank < 2; ++rank) {
    const std::string output = Output(rank);
    ASSERT_EQ(output.size(), kSize);
    for (size_t i = 0; i < kSize; ++i) {
      ASSERT_EQ(output[i], static_cast<char>('a' + i % 23)) << i;
    }
    EXPECT_EQ(Recorded().closed[(std::pair<Rank, int>(rank, 2))], 1);
  }
}

TEST_F(IoTest, ExitsAreReportedAfterTheEndOfStreams) {
  ASSERT_TRUE(Run(Shell("echo x; echo y >&2", 50)));
  for (Rank rank = 0; rank < 50; ++rank) {
    const auto& order = Recorded().order;
    const std::string close = "close " + std::to_string(rank);
    const std::string exit = "exit " + std::to_string(rank);
    EXPECT_EQ(std::count(order.begin(), order.end(), close), 2);
    EXPECT_EQ(std::find(std::find(order.begin(), order.end(), exit),
                        order.end(), close),
              order.end());
  }
}

TEST_F(IoTest, AProcessWhoseOutputIsNotConsumedBlocks) {
  StopCredit();
  const auto job = MakeJob({ProbePath(), "pattern", "4000000"}, 4);
  ASSERT_TRUE(Launch(job));
  EXPECT_EQ(Settle(kWindow), kWindow);
  EXPECT_TRUE(Recorded().exits.empty());
  adapter_->Credit({"job", 1000});
  EXPECT_EQ(Settle(kWindow + 1000), kWindow + 1000);
  sink_.on_output = [this](const core::LocalOutput& output) {
    adapter_->Credit({"job", output.data.size()});
  };
  adapter_->Credit({"job", kWindow});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Recorded().output_bytes, 4u * 4'000'000u);
}

TEST_F(IoTest, TheRanksOfANodeShareTheWindow) {
  StopCredit();
  ASSERT_TRUE(Launch(MakeJob({ProbePath(), "pattern", "4000000"}, 4)));
  EXPECT_EQ(Settle(kWindow), kWindow);
  for (uint64_t i = 1; i <= 16; ++i) {
    adapter_->Credit({"job", kWindow / 4});
    Settle(kWindow + i * kWindow / 4);
  }
  for (Rank rank = 0; rank < 4; ++rank) {
    EXPECT_GE(Output(rank).size(), kWindow) << rank;
  }
}

TEST_F(IoTest, UnreadOutputDelaysTheExit) {
  StopCredit();
  const auto job = MakeJob({ProbePath(), "pattern", "1100000"});
  ASSERT_TRUE(Launch(job));
  EXPECT_EQ(Settle(kWindow), kWindow);
  // The process has ended long before this check, because the rest of its
  // output fits into the pipe.
  EXPECT_FALSE(RunUntilFor(1500, [&] { return !Recorded().exits.empty(); }));
  adapter_->Credit({"job", kWindow});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Recorded().output_bytes, 1'100'000u);
}

TEST_F(IoTest, StderrCanBeMergedIntoStdout) {
  auto job = Shell("echo a; echo b >&2; echo c");
  job->merge_stderr = true;
  ASSERT_TRUE(Run(job));
  EXPECT_EQ(Output(0, 2), "a\nb\nc\n");
  EXPECT_EQ(Recorded().closed.size(), 1u);
}

TEST_F(IoTest, StderrOfOneApplicationCanBeMerged) {
  auto job = Shell("echo a; echo b >&2; echo c");
  job->apps[0].merge_stderr = true;
  ASSERT_TRUE(Run(job));
  EXPECT_EQ(Output(0, 2), "a\nb\nc\n");
  EXPECT_EQ(Output(0, 4), "");
  EXPECT_EQ(Recorded().closed.size(), 2u);
}

TEST_F(IoTest, ATextIsInsertedIntoTheOutputOfItsRank) {
  StopCredit();
  const std::string barrier = runtime_dir_ + "/gate";
  const auto job = Shell("printf before >&2; while [ ! -e " + barrier +
                             " ]; do sleep 0.01; done; rm -f " + barrier +
                             "; printf after >&2",
                         1);
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(RunUntil([&] { return Output(0, 4) == "before"; }));
  EXPECT_EQ(PutText(0, " text "), kSuccess);
  EXPECT_EQ(PutText(0, std::string(ProcessText::kMaxBytes + 1, 'x')),
            kErrOutOfResource);
  EXPECT_EQ(PutText(7, "x"), kErrNotFound);
  EXPECT_EQ(PutText(0, "x", "other job"), kErrNotSupported);
  std::ofstream(barrier) << "x";
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Output(0, 4), "before text after");
  EXPECT_EQ(Recorded().output_bytes, 17u);
}

// A stream is reported as closed only when its process has ended, so texts come
// before that report.
TEST_F(IoTest, TextsAreReportedEvenIfTheProcessHasClosedItsPipes) {
  const auto job = Shell("exec >&- 2>&-; exec sleep 100", 2);
  ASSERT_TRUE(Launch(job));
  std::map<Rank, bool> came_first;
  sink_.on_output = [&](const core::LocalOutput& output) {
    if (output.channel != 4) return;
    came_first.try_emplace(output.rank, !output.data.empty());
  };
  for (const Rank rank : {0u, 1u}) {
    adapter_->Put(Text(rank, "text\n"), [](int) {});
  }
  adapter_->Kill({"job", {}, 0});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(came_first, (std::map<Rank, bool>{{0, true}, {1, true}}));
  for (const Rank rank : {0u, 1u}) EXPECT_EQ(Output(rank, 4), "text\n");
}

TEST_F(IoTest, TextsOfOneKindAreAggregated) {
  const auto job = Shell("sleep 100", 3);
  ASSERT_TRUE(Launch(job));
  for (const Rank rank : {0u, 1u, 2u}) {
    ProcessText text = Text(rank, "help\n");
    text.key = "file";
    text.value = "topic";
    adapter_->Put(std::move(text), [](int) {});
  }
  adapter_->Kill({"job", {}, 0});
  ASSERT_TRUE(WaitForExits(*job));
  std::string all;
  for (const Rank rank : {0u, 1u, 2u}) all += Output(rank, 4);
  EXPECT_EQ(all,
            "help\n2 more processes have sent help message file / topic\n");
}

TEST_F(IoTest, InputGoesToItsRank) {
  auto job = MakeJob({"cat"}, 3);
  job->stdin_rank = 1;
  ASSERT_TRUE(Launch(job));
  adapter_->Feed({"job", {1}, Bytes(std::string("hello "))});
  adapter_->Feed({"job", {1}, Bytes(std::string("there"))});
  adapter_->Feed({"job", {1}, Bytes()});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Output(0), "");
  EXPECT_EQ(Output(1), "hello there");
  EXPECT_EQ(Output(2), "");
  EXPECT_TRUE(RunUntil([&] { return Recorded().input_done == 11; }));
}

TEST_F(IoTest, InputCanGoToAllRanks) {
  auto job = MakeJob({"cat"}, 3);
  job->stdin_target = StdinTarget::kAll;
  ASSERT_TRUE(Launch(job));
  adapter_->Feed({"job", {0, 1, 2}, Bytes(std::string("to all"))});
  adapter_->Feed({"job", {}, Bytes()});
  ASSERT_TRUE(WaitForExits(*job));
  for (Rank rank = 0; rank < 3; ++rank) EXPECT_EQ(Output(rank), "to all");
  EXPECT_TRUE(RunUntil([&] { return Recorded().input_done == 6; }));
}

TEST_F(IoTest, ALargeInputIsDelivered) {
  const auto job = MakeJob({"wc", "-c"});
  ASSERT_TRUE(Launch(job));
  const std::string block(1'000'000, 'x');
  for (int i = 0; i < 20; ++i) {
    adapter_->Feed({"job", {0}, Bytes(block)});
  }
  adapter_->Feed({"job", {0}, Bytes()});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Output(), "20000000\n");
  EXPECT_TRUE(RunUntil([&] { return Recorded().input_done == 20'000'000; }));
}

TEST_F(IoTest, UnreadInputIsNotReportedAsDone) {
  const auto job = MakeJob({"sleep", "100"});
  ASSERT_TRUE(Launch(job));
  adapter_->Feed({"job", {0}, Bytes(std::string(100'000, 'x'))});
  EXPECT_FALSE(RunUntilFor(100, [&] { return Recorded().input_done > 0; }));
}

TEST_F(IoTest, InputForAnEndedProcessIsReportedAsDone) {
  const auto job = MakeJob({"true"});
  ASSERT_TRUE(Run(job));
  adapter_->Feed({"job", {0}, Bytes(std::string(100'000, 'x'))});
  EXPECT_TRUE(RunUntil([&] { return Recorded().input_done == 100'000; }));
}

TEST_F(IoTest, InputForAClosedPipeCountsAsDone) {
  const auto job = Shell("exec <&-; echo closed; sleep 100");
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(RunUntil([&] { return Output() == "closed\n"; }));
  adapter_->Feed({"job", {0}, Bytes(std::string(100'000, 'x'))});
  EXPECT_TRUE(RunUntil([&] { return Recorded().input_done == 100'000; }));
}

}  // namespace
}  // namespace canopy::process
