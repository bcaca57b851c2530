#include "server/monitor/usage_call.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/usage_keys.h"

namespace canopy::monitor {
namespace {

template <typename T>
Value ArrayOf(pmix_data_type_t type, std::vector<T> elements) {
  pmix_data_array_t array = {type, elements.size(), elements.data()};
  pmix_value_t value = {};
  value.type = PMIX_DATA_ARRAY;
  value.data.darray = &array;
  return Value::FromC(value);
}

class UsageCallTest : public testing::Test {
 protected:
  UsageCall Read(const char* key, Value list, const InfoList& with = {}) {
    const InfoList what = {{key, std::move(list)}};
    const Result<UsageCall> call = ReadUsageCall(what[0], with);
    status_ = call.code();
    return call.ok() ? *call : UsageCall();
  }
  int StatusOf(const char* target, Value value) {
    Read(PMIX_MONITOR_PROC_RESOURCE_USAGE, Value(),
         {{target, std::move(value)}});
    return status_;
  }

  int status_ = 1;
};

TEST_F(UsageCallTest, WithoutAListAllStatisticsAreRequested) {
  const UsageCall proc = Read(PMIX_MONITOR_PROC_RESOURCE_USAGE, Value());
  EXPECT_EQ(status_, kSuccess);
  EXPECT_EQ(proc.fields.proc, core::AllUsage(core::kProcUsage));
  EXPECT_FALSE(proc.fields.of_node());
  const UsageCall node = Read(PMIX_MONITOR_NODE_RESOURCE_USAGE,
                              ArrayOf<pmix_proc_t>(PMIX_PROC, {}));
  EXPECT_EQ(status_, kSuccess) << "an empty array has any type";
  EXPECT_EQ(node.fields.proc, 0u);
  EXPECT_EQ(node.fields.node, core::AllUsage(core::kNodeUsage));
  EXPECT_EQ(node.fields.disk, core::AllUsage(core::kDiskUsage));
  EXPECT_EQ(node.fields.net, core::AllUsage(core::kNetUsage));
  EXPECT_EQ(Read(PMIX_MONITOR_DISK_RESOURCE_USAGE, Value()).fields.net, 0u);
  EXPECT_EQ(Read(PMIX_MONITOR_NET_RESOURCE_USAGE, Value()).fields.disk, 0u);
}

TEST_F(UsageCallTest, AListOfKeysSelectsStatistics) {
  const InfoList list = {{PMIX_PROC_RSS, Value()},
                         {PMIX_PROC_PSS, Value::Int(3)},
                         {PMIX_NODE_LOAD_AVG, Value()},
                         {"other", Value()}};
  const UsageCall call =
      Read(PMIX_MONITOR_PROC_RESOURCE_USAGE, Value::InfoArray(list));
  EXPECT_EQ(status_, kSuccess);
  EXPECT_EQ(call.fields.proc,
            core::UsageBit(core::kProcUsage, PMIX_PROC_RSS) |
                core::UsageBit(core::kProcUsage, PMIX_PROC_PSS));
  EXPECT_EQ(call.fields.node, 0u) << "is not of processes";
  Read(PMIX_MONITOR_DISK_RESOURCE_USAGE, Value::InfoArray(list));
  EXPECT_EQ(status_, kErrNotSupported);
  Read(PMIX_MONITOR_PROC_RESOURCE_USAGE, Value::Int(3));
  EXPECT_EQ(status_, kErrBadParam);
}

TEST_F(UsageCallTest, NamesOfDevicesInTheListSelectDevices) {
  const UsageCall disk =
      Read(PMIX_MONITOR_DISK_RESOURCE_USAGE,
           Value::InfoArray({{PMIX_DISK_ID, Value::String("sda")}}));
  EXPECT_EQ(disk.targets.disks, (std::vector<std::string>{"sda"}));
  EXPECT_EQ(disk.fields.disk, core::AllUsage(core::kDiskUsage));
  const UsageCall net =
      Read(PMIX_MONITOR_NET_RESOURCE_USAGE,
           Value::InfoArray({{PMIX_NETWORK_ID, Value::String("lo")},
                             {PMIX_NET_SENT_BYTES, Value()}}));
  EXPECT_EQ(net.targets.nets, (std::vector<std::string>{"lo"}));
  EXPECT_EQ(net.fields.net,
            core::UsageBit(core::kNetUsage, PMIX_NET_SENT_BYTES));
  Read(PMIX_MONITOR_NET_RESOURCE_USAGE,
       Value::InfoArray({{PMIX_NETWORK_ID, Value::Int(3)}}));
  EXPECT_EQ(status_, kErrBadParam);
}

TEST_F(UsageCallTest, TargetsOfAllKindsAreRead) {
  const std::vector<ProcId> procs = {{"job", 1}, {"job", kRankWildcard}};
  const std::vector<std::string> names = {"a", "b"};
  char host[] = "n1";
  InfoList with = {{PMIX_MONITOR_TARGET_PROCS, Value::ProcArray(procs)},
                   {PMIX_MONITOR_TARGET_NODES, Value::StringArray(names)},
                   {PMIX_MONITOR_TARGET_DISKS, Value::StringArray(names)},
                   {PMIX_MONITOR_TARGET_NETS, Value::StringArray(names)}};
  with.Add(PMIX_MONITOR_TARGET_PROCS, Value::ProcArray(procs));
  with.Add(PMIX_MONITOR_TARGET_PIDS,
           ArrayOf<pmix_node_pid_t>(PMIX_NODE_PID, {{host, 5, -1}}));
  with.Add(PMIX_MONITOR_TARGET_NODEIDS, ArrayOf<uint32_t>(PMIX_UINT32, {3, 4}));
  with.Add(PMIX_MONITOR_LOCAL_ONLY, Value::Bool(true));
  const UsageCall call = Read(PMIX_MONITOR_PROC_RESOURCE_USAGE, Value(), with);
  EXPECT_EQ(status_, kSuccess);
  ASSERT_EQ(call.targets.procs.size(), 4u) << "each adds its own";
  EXPECT_EQ(call.targets.procs[1], procs[1]);
  EXPECT_EQ(call.targets.hosts, names);
  EXPECT_EQ(call.targets.disks, names);
  EXPECT_EQ(call.targets.nets, names);
  EXPECT_EQ(call.targets.nodeids, (std::vector<uint32_t>{3, 4}));
  EXPECT_EQ(call.targets.pids, (std::vector<core::NodePid>{{"n1", 5, -1}}));
  EXPECT_TRUE(call.targets.local_only);
}

TEST_F(UsageCallTest, TargetsOfAnotherTypeAreRejected) {
  for (const char* key :
       {PMIX_MONITOR_TARGET_PROCS, PMIX_MONITOR_TARGET_PIDS,
        PMIX_MONITOR_TARGET_NODES, PMIX_MONITOR_TARGET_NODEIDS,
        PMIX_MONITOR_TARGET_DISKS, PMIX_MONITOR_TARGET_NETS}) {
    EXPECT_EQ(StatusOf(key, Value::Int(3)), kErrBadParam) << key;
    EXPECT_EQ(StatusOf(key, ArrayOf<uint8_t>(PMIX_UINT8, {1})), kErrBadParam)
        << key;
    EXPECT_EQ(StatusOf(key, ArrayOf<uint8_t>(PMIX_UINT8, {})), kSuccess) << key;
  }
  const std::vector<std::string> none = {""};
  EXPECT_EQ(StatusOf(PMIX_MONITOR_TARGET_NODES, Value::StringArray(none)),
            kErrBadParam);
  const std::vector<ProcId> nobody = {{"", 0}};
  EXPECT_EQ(StatusOf(PMIX_MONITOR_TARGET_PROCS, Value::ProcArray(nobody)),
            kErrBadParam);
}

TEST_F(UsageCallTest, TooManyTargetsAreRejected) {
  std::vector<ProcId> procs(kMaxTargets, ProcId{"job", 1});
  EXPECT_EQ(StatusOf(PMIX_MONITOR_TARGET_PROCS, Value::ProcArray(procs)),
            kSuccess);
  procs.push_back({"job", 2});
  EXPECT_EQ(StatusOf(PMIX_MONITOR_TARGET_PROCS, Value::ProcArray(procs)),
            kErrOutOfResource);
  std::vector<std::string> hosts;
  std::vector<ProcId> jobs;
  for (size_t i = 0; i <= kMaxTargetHosts; ++i) {
    hosts.push_back("h" + std::to_string(i));
    jobs.push_back({"j" + std::to_string(i), 0});
  }
  EXPECT_EQ(StatusOf(PMIX_MONITOR_TARGET_NODES, Value::StringArray(hosts)),
            kErrOutOfResource);
  EXPECT_EQ(StatusOf(PMIX_MONITOR_TARGET_PROCS, Value::ProcArray(jobs)),
            kErrOutOfResource);
  const std::vector<std::string> name = {std::string(kMaxTargetName + 1, 'x')};
  EXPECT_EQ(StatusOf(PMIX_MONITOR_TARGET_NODES, Value::StringArray(name)),
            kErrBadParam);
}

TEST_F(UsageCallTest, AMonitorOfHeartbeatsIsNotAUsageCall) {
  EXPECT_TRUE(IsOfUsage(PMIX_MONITOR_NETWORK_RESOURCE_USAGE));
  EXPECT_FALSE(IsOfUsage(PMIX_MONITOR_HEARTBEAT));
  Read(PMIX_MONITOR_HEARTBEAT, Value());
  EXPECT_EQ(status_, kErrNotSupported);
}

}  // namespace
}  // namespace canopy::monitor
