#include "server/facts/node_usage.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/usage_keys.h"

namespace canopy::facts {
namespace {

core::UsageFields All() {
  core::UsageFields fields;
  fields.node = core::AllUsage(core::kNodeUsage);
  fields.disk = core::AllUsage(core::kDiskUsage);
  fields.net = core::AllUsage(core::kNetUsage);
  return fields;
}

class NodeUsageTest : public testing::Test {
 protected:
  NodeUsageTest() {
    std::string name = testing::TempDir() + "node-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    proc_ = name;
    mkdir((proc_ + "/net").c_str(), 0755);
  }
  void Write(const std::string& file, const std::string& text) {
    std::ofstream(proc_ + "/" + file) << text;
  }
  InfoList Usage(const core::UsageFields& fields) {
    InfoList infos;
    EXPECT_TRUE(DecodeInfos(NodeUsage(fields, proc_), &infos));
    return infos;
  }
  static InfoList In(const pmix_info_t& info) {
    const auto infos = InfosOf(info.value);
    return infos ? InfoList::FromC(infos->data(), infos->size()) : InfoList();
  }

  std::string proc_;
};

TEST_F(NodeUsageTest, ReportsLoadAndMemoryOfTheNode) {
  Write("loadavg", "0.50 1.25 2.00 1/100 4711\n");
  Write("meminfo",
        "MemTotal: 4096 kB\nMemFree: 1024 kB\nBuffers: 0 kB\n"
        "Cached: 512 kB\nSwapCached: 1 kB\nMapped: 2048 kB\n");
  core::UsageFields fields;
  fields.node = All().node;
  const InfoList infos = Usage(fields);
  EXPECT_EQ(infos.Find(PMIX_NODE_LOAD_AVG)->value.data.fval, 0.5F);
  EXPECT_EQ(infos.Find(PMIX_NODE_LOAD_AVG5)->value.data.fval, 1.25F);
  EXPECT_EQ(infos.Find(PMIX_NODE_LOAD_AVG15)->value.data.fval, 2.0F);
  EXPECT_EQ(infos.Find(PMIX_NODE_MEM_TOTAL)->value.data.fval, 4.0F);
  EXPECT_EQ(infos.Find(PMIX_NODE_MEM_CACHED)->value.data.fval, 0.5F);
  EXPECT_EQ(infos.Find(PMIX_NODE_MEM_MAPPED)->value.data.fval, 2.0F);
  EXPECT_FALSE(infos.Has(PMIX_NODE_MEM_SWAP_TOTAL)) << "not in the file";
  EXPECT_TRUE(infos.Has(PMIX_NODE_SAMPLE_TIME));
}

TEST_F(NodeUsageTest, ReportsRequestedStatisticsOfEachDisk) {
  Write("diskstats",
        "   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11\n"
        "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0\n"
        "   8       1 short 1 2\n"
        " 253       0 dm-0 9 9 9 9 9 9 9 9 9 9 9\n");
  core::UsageFields fields;
  fields.disk = core::UsageBit(core::kDiskUsage, PMIX_DISK_WRITE_SECTORS) |
                core::UsageBit(core::kDiskUsage, PMIX_DISK_IO_WEIGHTED);
  const InfoList infos = Usage(fields);
  ASSERT_EQ(infos.size(), 2u);
  const InfoList sda = In(infos[0]);
  ASSERT_EQ(sda.size(), 4u);
  EXPECT_EQ(KeyOf(sda[0]), PMIX_DISK_ID);
  EXPECT_EQ(sda.FindString(PMIX_DISK_ID), "sda");
  EXPECT_EQ(sda.FindUint(PMIX_DISK_WRITE_SECTORS), 7u);
  EXPECT_EQ(sda.FindUint(PMIX_DISK_IO_WEIGHTED), 11u);
  EXPECT_TRUE(sda.Has(PMIX_DISK_SAMPLE_TIME));
  EXPECT_EQ(In(infos[1]).FindString(PMIX_DISK_ID), "dm-0");
}

TEST_F(NodeUsageTest, ReportsStatisticsOfEachInterface) {
  Write("net/dev",
        "Inter-|   Receive                |  Transmit\n"
        " face |bytes    packets errs drop|bytes    packets errs\n"
        "    lo: 10 11 12 0 0 0 0 0 20 21 22 0 0 0 0 0\n"
        "eth0:30 31 32 0 0 0 0 0 40 41 42 0 0 0 0 0\n");
  core::UsageFields fields;
  fields.net = All().net;
  const InfoList infos = Usage(fields);
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_EQ(KeyOf(infos[0]), PMIX_NETWORK_RESOURCE_USAGE);
  const InfoList eth = In(infos[1]);
  EXPECT_EQ(KeyOf(eth[0]), PMIX_NETWORK_ID);
  EXPECT_EQ(eth.FindString(PMIX_NETWORK_ID), "eth0");
  EXPECT_EQ(eth.FindUint(PMIX_NET_RECVD_BYTES), 30u);
  EXPECT_EQ(eth.FindUint(PMIX_NET_RECVD_ERRS), 32u);
  EXPECT_EQ(eth.FindUint(PMIX_NET_SENT_BYTES), 40u);
  EXPECT_EQ(eth.FindUint(PMIX_NET_SENT_ERRS), 42u);
}

TEST_F(NodeUsageTest, TheNumberOfReportedDevicesIsLimited) {
  std::string text;
  for (size_t i = 0; i < 2 * kMaxDevices; ++i) {
    text += "8 0 sd" + std::to_string(i) + " 1 2 3 4 5 6 7 8 9 10 11\n";
  }
  Write("diskstats", text);
  core::UsageFields fields;
  fields.disk = All().disk;
  EXPECT_EQ(Usage(fields).size(), kMaxDevices);
}

TEST_F(NodeUsageTest, WithoutFieldsOrFilesTheResultIsEmpty) {
  EXPECT_EQ(NodeUsage({}, proc_), "");
  core::UsageFields devices = All();
  devices.node = 0;
  EXPECT_EQ(NodeUsage(devices, proc_ + "/none"), "");
}

TEST_F(NodeUsageTest, ReportsStatisticsOfThisNode) {
  InfoList infos;
  ASSERT_TRUE(DecodeInfos(NodeUsage(All()), &infos));
  EXPECT_TRUE(infos.Has(PMIX_NODE_MEM_TOTAL));
  EXPECT_TRUE(infos.Has(PMIX_NETWORK_RESOURCE_USAGE));
}

}  // namespace
}  // namespace canopy::facts
