#include "client/cli/commands/history_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <vector>

#include "client/cli/history/process_mark.h"

namespace canopy::cli {
namespace {

HistoryEntry Entry() {
  HistoryEntry entry;
  entry.job = "canopy-1-2";
  entry.context = "here";
  entry.command = "sleep 1";
  entry.num_procs = 8;
  entry.num_nodes = 2;
  entry.requested_ms = 1000;
  entry.ended_ms = 61'500;
  entry.exit_code = 3;
  entry.reason = "rank 1 failed";
  entry.launcher = MarkOfThisProcess();
  return entry;
}

TEST(HistoryTextTest, ShowsOneRowForEachEndedJob) {
  setenv("TZ", "UTC", 1);
  tzset();
  HistoryEntry running = Entry();
  running.job = "canopy-1-3";
  running.ended_ms = 0;
  HistoryEntry lost = running;
  lost.job = "canopy-1-4";
  ++lost.launcher.start;
  const std::vector<HistoryEntry> entries = {Entry(), running, lost};
  const std::string text = HistoryText(entries, false);
  EXPECT_NE(text.find("1970-01-01 00:00:01"), std::string::npos) << text;
  EXPECT_NE(text.find("60 s"), std::string::npos) << text;
  EXPECT_EQ(text.find("canopy-1-3"), std::string::npos) << text;
  EXPECT_NE(text.find("lost"), std::string::npos) << text;
  EXPECT_EQ(text.find("here"), std::string::npos) << text;
  EXPECT_NE(HistoryText(entries, true).find("here"), std::string::npos);
  EXPECT_EQ(HistoryText(std::vector<HistoryEntry>{running}, false), "");
}

TEST(HistoryTextTest, ShowsTheParentsOfSpawnedJobs) {
  std::vector<HistoryEntry> entries = {Entry()};
  EXPECT_EQ(HistoryText(entries, false).find("PARENT"), std::string::npos);
  entries.push_back(Entry());
  entries[1].parent = "canopy-7-7";
  const std::string text = HistoryText(entries, false);
  EXPECT_NE(text.find("PARENT"), std::string::npos) << text;
  EXPECT_NE(text.find("canopy-7-7"), std::string::npos) << text;
}

}  // namespace
}  // namespace canopy::cli
