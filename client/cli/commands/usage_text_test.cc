#include "client/cli/commands/usage_text.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

UsageReport Report(double cpu_seconds, int at_s) {
  Json document;
  document["nodes"] = Json::array({{{"node", "n1"},
                                    {"load", 1.25},
                                    {"memory_mb", 2048.0},
                                    {"memory_free_mb", 1536.0}}});
  document["jobs"] = Json::array({{{"job", "job-1"},
                                   {"processes", 2},
                                   {"cpu_seconds", cpu_seconds},
                                   {"memory_mb", 100.0}}});
  UsageReport report = ReadUsage(document);
  report.at = std::chrono::steady_clock::time_point(std::chrono::seconds(at_s));
  return report;
}

TEST(UsageTextTest, CpusFollowFromTheCpuTimeBetweenTwoReports) {
  const UsageReport before = Report(10, 100);
  const UsageReport now = Report(13, 102);
  EXPECT_DOUBLE_EQ(CpusOf("job-1", before, now), 1.5);
  EXPECT_LT(CpusOf("job-1", {}, now), 0);
  EXPECT_LT(CpusOf("job-1", now, Report(1, 104)), 0) << "a process has ended";
  EXPECT_EQ(JobUsageText(before, now),
            "\nJOB    PROCS  CPUS BUSY  CPU TIME  MEMORY\n"
            "job-1  2      1.5        13 s      100 MB\n");
}

TEST(UsageTextTest, NodesAreShownWithTheirMemory) {
  EXPECT_EQ(NodeUsageText(Report(0, 0)),
            "\nNODE  LOAD  MEMORY USED  OF\n"
            "n1    1.25  512 MB       2.0 GB\n");
  EXPECT_EQ(NodeUsageText({}), "");
}

TEST(UsageTextTest, UnknownUsageIsNullInTheDocument) {
  Json out;
  AddUsage({}, Report(13, 102), &out);
  EXPECT_TRUE(out["job_usage"][0]["cpus_busy"].is_null());
  EXPECT_EQ(out["node_usage"][0]["node"], "n1");
}

}  // namespace
}  // namespace canopy::cli
