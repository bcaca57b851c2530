#include "server/process/rank_reports.h"

#include <gtest/gtest.h>

#include <string>

#include "server/ports/fake_sink.h"

namespace canopy::process {
namespace {

// Remembers the processes that were reported.
class Recorder : public ProcessEnvironment {
 public:
  std::vector<std::string> ForJob(const core::PrepareLocal&) override {
    return {};
  }
  std::vector<std::string> ForRank(const core::PrepareLocal&, Rank) override {
    return {};
  }
  InheritedFd FdForRank(const core::PrepareLocal&, Rank) override { return {}; }
  void OnProcess(const std::string&, Rank rank, int pid) override {
    pids[rank] = pid;
  }

  std::unordered_map<Rank, int> pids;
};

// The shim of a pod, which its owner may have replaced.
class DistrustedShimTest : public testing::Test {
 protected:
  DistrustedShimTest() {
    context_.sink = &sink_;
    context_.environments = {&recorder_};
    RankReports::Unreported ranks;
    for (const Rank rank : {Rank{2}, Rank{3}}) ranks[rank];
    reports_.Begin("job", /*merge_stderr=*/false, std::move(ranks));
    reports_.Distrust();
  }

  FakeSink sink_;
  Recorder recorder_;
  ProcessContext context_;
  RankReports reports_{&context_};
};

TEST_F(DistrustedShimTest, ProcessesAreReportedWithoutTheirPids) {
  Started started;
  started.ranks = {{2, 1}, {3, 4711}};
  EXPECT_TRUE(reports_.ReportStarted(started));
  EXPECT_EQ(recorder_.pids.at(2), 0);
  EXPECT_EQ(recorder_.pids.at(3), 0);
  for (const int group : reports_.Groups()) EXPECT_EQ(group, 0);
}

TEST_F(DistrustedShimTest, AStartOfAnotherRankBreaksTheProtocol) {
  Started started;
  started.ranks = {{2, 1}, {7, 1}};
  EXPECT_FALSE(reports_.ReportStarted(started));
  EXPECT_FALSE(reports_.ReportRestarted(started));
  EXPECT_TRUE(recorder_.pids.empty());
}

TEST_F(DistrustedShimTest, OnlyEndsOfItsOwnStreamsAreAccepted) {
  EXPECT_TRUE(reports_.ReportOutput(EncodeOutputHead(2, kChannelStdout)));
  EXPECT_FALSE(reports_.ReportOutput(EncodeOutputHead(7, kChannelStdout)));
  EXPECT_FALSE(
      reports_.ReportOutput(EncodeOutputHead(2, kChannelStdout) + "text"));
  EXPECT_EQ(sink_.All<core::LocalOutput>().size(), 1u);
}

TEST_F(DistrustedShimTest, ExitsOfOtherRanksAreIgnored) {
  EXPECT_TRUE(reports_.ReportExits(Encode(std::vector<ExitedRank>{
      {7, 0, 0, std::nullopt}, {3, 0, 0, std::nullopt}})));
  const auto exits = sink_.All<core::LocalExits>();
  ASSERT_EQ(exits.size(), 1u);
  ASSERT_EQ(exits[0].exits.size(), 1u);
  EXPECT_EQ(exits[0].exits[0].rank, 3u);
}

}  // namespace
}  // namespace canopy::process
