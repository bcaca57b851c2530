#include "server/agent/persistence/report_log.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace canopy::agent {
namespace {

class ReportLogTest : public testing::Test {
 protected:
  ReportLogTest() {
    directory_ = testing::TempDir() + "/reportsXXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
  }
  ~ReportLogTest() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ + "/reports.log"; }
  scheduler::StoredReports Left() { return ReportLog(directory_).Load(); }

  std::string directory_;
};

TEST_F(ReportLogTest, AMissingLogIsEmpty) {
  EXPECT_EQ(Left().series, 0u);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(ReportLogTest, ASuccessorLoadsTheEntriesThatWereNotRemoved) {
  ReportLog log(directory_);
  ASSERT_TRUE(log.Begin(7).ok());
  ASSERT_TRUE(log.Reserve(100).ok());
  ASSERT_TRUE(log.Add(3, "three").ok());
  ASSERT_TRUE(log.Add(5, "five").ok());
  ASSERT_TRUE(log.Add(6, "").ok());
  ASSERT_TRUE(log.Add(8, "eight").ok());
  ASSERT_TRUE(log.Remove(4).ok());
  ASSERT_TRUE(log.Lose(5, 9).ok());
  const scheduler::StoredReports left = Left();
  EXPECT_EQ(left.series, 7u);
  EXPECT_EQ(left.reserved, 100u);
  EXPECT_EQ(left.lost, 9u);
  ASSERT_EQ(left.records.size(), 2u);
  EXPECT_EQ(left.records[0], std::make_pair(uint64_t{6}, std::string()));
  EXPECT_EQ(left.records[1], std::make_pair(uint64_t{8}, std::string("eight")));
}

TEST_F(ReportLogTest, ASuccessorLoadsReleasesAndCommands) {
  ReportLog log(directory_);
  ASSERT_TRUE(log.Begin(7).ok());
  ASSERT_TRUE(log.Add(1, "record").ok());
  ASSERT_TRUE(log.AddRelease(1, "told").ok());
  ASSERT_TRUE(log.AddRelease(2, "free").ok());
  ASSERT_TRUE(log.RemoveRelease(1).ok());
  ASSERT_TRUE(log.Remove(1).ok());
  // The number of entries is large enough for a rewrite.
  for (uint64_t i = 0; i < 3 * ReportLog::kCommands; ++i) {
    ASSERT_TRUE(
        log.AddCommand(std::string(1000, 'x') + std::to_string(i)).ok());
  }
  EXPECT_LT(std::filesystem::file_size(path()), 6 * ReportLog::kSlack);
  const scheduler::StoredReports left = Left();
  EXPECT_EQ(left.releases,
            (std::vector<std::pair<uint64_t, std::string>>{{2, "free"}}));
  ASSERT_EQ(left.commands.size(), ReportLog::kCommands);
  EXPECT_TRUE(left.commands.back().ends_with("x6143"));
  EXPECT_TRUE(left.commands.front().ends_with("x4096"));
}

TEST_F(ReportLogTest, ASuccessorContinuesTheLog) {
  {
    ReportLog log(directory_);
    ASSERT_TRUE(log.Begin(7).ok());
    ASSERT_TRUE(log.Add(1, "a").ok());
  }
  ReportLog log(directory_);
  EXPECT_EQ(log.Load().series, 7u);
  ASSERT_TRUE(log.Remove(1).ok());
  ASSERT_TRUE(log.Add(2000, "b").ok());
  const scheduler::StoredReports left = Left();
  EXPECT_EQ(left.reserved, 2000u) << "a number that is not reserved is taken";
  ASSERT_EQ(left.records.size(), 1u);
  EXPECT_EQ(left.records[0].second, "b");
}

TEST_F(ReportLogTest, ATruncatedEntryIsRemoved) {
  {
    ReportLog log(directory_);
    ASSERT_TRUE(log.Begin(7).ok());
    ASSERT_TRUE(log.Add(1, "whole").ok());
    ASSERT_TRUE(log.Add(2, "a part of this is missing").ok());
  }
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 5);
  {
    ReportLog log(directory_);
    EXPECT_EQ(log.Load().records.size(), 1u);
    ASSERT_TRUE(log.Add(3, "next").ok());
  }
  const scheduler::StoredReports left = Left();
  ASSERT_EQ(left.records.size(), 2u);
  EXPECT_EQ(left.records[1].second, "next");
}

TEST_F(ReportLogTest, RemovedEntriesDoNotMakeTheLogGrow) {
  ReportLog log(directory_);
  ASSERT_TRUE(log.Begin(7).ok());
  const std::string record(10'000, 'x');
  for (uint64_t i = 1; i <= 1000; ++i) {
    ASSERT_TRUE(log.Add(i, record).ok());
    if (i > 3) {
      ASSERT_TRUE(log.Remove(i - 3).ok());
    }
  }
  EXPECT_LT(std::filesystem::file_size(path()), 2 * ReportLog::kSlack);
  const scheduler::StoredReports left = Left();
  EXPECT_EQ(left.series, 7u);
  EXPECT_EQ(left.reserved, 1000u);
  ASSERT_EQ(left.records.size(), 3u);
  EXPECT_EQ(left.records[2].second, record);
}

TEST_F(ReportLogTest, ALogThatOthersCanReadIsNotRead) {
  {
    ReportLog log(directory_);
    ASSERT_TRUE(log.Begin(7).ok());
  }
  ASSERT_EQ(chmod(path().c_str(), 0644), 0);
  EXPECT_EQ(Left().series, 0u);
  ReportLog log(directory_);
  EXPECT_EQ(log.Load().series, 0u);
  ASSERT_TRUE(log.Begin(8).ok()) << "a file of its own takes its place";
  EXPECT_EQ(Left().series, 8u);
}

TEST_F(ReportLogTest, AFailedWriteIsAnError) {
  ReportLog log(directory_ + "/not there");
  EXPECT_FALSE(log.Begin(7).ok());
  EXPECT_FALSE(log.Add(1, "a").ok());
}

TEST_F(ReportLogTest, DeleteRemovesTheFile) {
  ReportLog log(directory_);
  ASSERT_TRUE(log.Begin(7).ok());
  log.Delete();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace canopy::agent
