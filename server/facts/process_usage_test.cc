#include "server/facts/process_usage.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/usage_keys.h"

namespace canopy::facts {
namespace {

constexpr uint64_t kAll = core::AllUsage(core::kProcUsage);

InfoList Decoded(const std::string& bytes) {
  InfoList infos;
  EXPECT_TRUE(DecodeInfos(bytes, &infos));
  return infos;
}

float FloatOf(const InfoList& infos, const char* key) {
  const pmix_info_t* info = infos.Find(key);
  return info == nullptr || info->value.type != PMIX_FLOAT
             ? -1.0F
             : info->value.data.fval;
}

// A directory in the form of /proc with one process.
class ProcessUsageTest : public testing::Test {
 protected:
  ProcessUsageTest() {
    std::string name = testing::TempDir() + "usage-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    proc_ = name;
    mkdir((proc_ + "/7").c_str(), 0755);
  }
  void Write(const std::string& file, const std::string& text) {
    std::ofstream(proc_ + "/7/" + file) << text;
  }
  // `pages` is the number of pages of resident memory.
  void WriteStat(const std::string& pages) {
    Write("stat",
          "7 (a) b) R 1 7 7 0 -1 0 1 2 3 4 250 150 0 0 -2 0 3 0 50 1048576 " +
              pages + " 1 1 1 1 1 1 0 0 0 0 0 0 0 17 5 0 0 0 0\n");
  }

  std::string proc_;
};

TEST_F(ProcessUsageTest, ReportsAllStatistics) {
  WriteStat("256");
  Write("cmdline", std::string("./a\0b c\0", 8));
  Write("status", "Name:\ta\nVmPeak:\t   2048 kB\nVmSize:\t 1 kB\n");
  Write("smaps_rollup",
        "header\nRss: 9 kB\nPss:     512 kB\nPss_Dirty: 3 kB\n");
  const InfoList infos = Decoded(ProcessUsage(7, kAll, proc_));
  EXPECT_EQ(infos.FindString(PMIX_CMD_LINE), "./a b c");
  EXPECT_EQ(infos.FindString(PMIX_PROC_OS_STATE), "R");
  EXPECT_EQ(infos.FindInt(PMIX_PROC_PRIORITY), -2);
  EXPECT_EQ(infos.FindUint(PMIX_PROC_NUM_THREADS), 3u);
  EXPECT_EQ(infos.FindUint(PMIX_PROC_CPU), 5u);
  EXPECT_EQ(FloatOf(infos, PMIX_PROC_VSIZE), 1.0F);
  EXPECT_EQ(FloatOf(infos, PMIX_PROC_RSS),
            256.0F * static_cast<float>(getpagesize()) / (1 << 20));
  EXPECT_EQ(FloatOf(infos, PMIX_PROC_PEAK_VSIZE), 2.0F);
  EXPECT_EQ(FloatOf(infos, PMIX_PROC_PSS), 0.5F);
  EXPECT_GE(FloatOf(infos, PMIX_PROC_PERCENT_CPU), 0.0F);
  const pmix_info_t* time = infos.Find(PMIX_PROC_TIME);
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->value.data.tv.tv_sec, 400 / sysconf(_SC_CLK_TCK));
  EXPECT_EQ(KeyOf(infos[infos.size() - 1]), PMIX_PROC_SAMPLE_TIME);
}

TEST_F(ProcessUsageTest, ReportsOnlyRequestedStatistics) {
  WriteStat("256");
  const InfoList infos = Decoded(
      ProcessUsage(7, core::UsageBit(core::kProcUsage, PMIX_PROC_RSS), proc_));
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_EQ(KeyOf(infos[0]), PMIX_PROC_RSS);
}

TEST_F(ProcessUsageTest, PssOfALargeProcessIsNotRead) {
  Write("smaps_rollup", "Pss:     512 kB\n");
  const uint64_t pss = core::UsageBit(core::kProcUsage, PMIX_PROC_PSS);
  WriteStat("256");
  EXPECT_TRUE(Decoded(ProcessUsage(7, pss, proc_)).Has(PMIX_PROC_PSS));
  WriteStat(std::to_string(kMaxPssBytes));
  EXPECT_FALSE(Decoded(ProcessUsage(7, pss, proc_)).Has(PMIX_PROC_PSS));
}

TEST_F(ProcessUsageTest, WithoutTheProcessTheResultIsEmpty) {
  EXPECT_EQ(ProcessUsage(8, kAll, proc_), "");
  EXPECT_EQ(ProcessUsage(0, kAll), "");
  EXPECT_EQ(ProcessUsage(-1, kAll), "");
  Write("stat", "7 (short) R 1 2");
  EXPECT_EQ(ProcessUsage(7, kAll, proc_), "");
}

TEST_F(ProcessUsageTest, ReportsStatisticsOfThisProcess) {
  const InfoList infos = Decoded(ProcessUsage(getpid(), kAll));
  EXPECT_GT(FloatOf(infos, PMIX_PROC_RSS), 0.0F);
  EXPECT_GE(FloatOf(infos, PMIX_PROC_PEAK_VSIZE),
            FloatOf(infos, PMIX_PROC_VSIZE));
  EXPECT_GE(infos.FindUint(PMIX_PROC_NUM_THREADS), 1u);
}

}  // namespace
}  // namespace canopy::facts
