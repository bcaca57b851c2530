#include "server/registration/job_info.h"

#include <gtest/gtest.h>

#include <string>

#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::registration {
namespace {

Registration Read(const InfoList& infos, int num_local_procs,
                  const std::string& node) {
  auto read = ReadRegistration({.nspace = "job",
                                .num_local_procs = num_local_procs,
                                .infos = infos.span(),
                                .node_names = {node},
                                .node_id = {}});
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? *std::move(read) : Registration();
}

Registration Told() {
  const InfoList proc{{PMIX_RANK, Value::Rank(2)},
                      {PMIX_APPNUM, Value::Uint32(1)},
                      {PMIX_LOCAL_RANK, Value::Uint16(3)},
                      {PMIX_PACKAGE_RANK, Value::Uint16(1)},
                      {PMIX_CPUSET, Value::String("0-1")},
                      {"proc.key", Value::String("p")}};
  const InfoList node{{PMIX_HOSTNAME, Value::String("b")},
                      {PMIX_NODEID, Value::Uint32(40)},
                      {"node.key", Value::String("n")}};
  const InfoList app{{PMIX_APPNUM, Value::Uint32(0)},
                     {PMIX_APP_SIZE, Value::Uint32(2)},
                     {PMIX_APPLDR, Value::Rank(0)},
                     {"app.key", Value::String("a")}};
  const InfoList infos{{PMIX_NODE_MAP_RAW, Value::String("a,b")},
                       {PMIX_PROC_MAP_RAW, Value::String("0;1,2")},
                       {PMIX_LOCAL_PEERS, Value::String("0")},
                       {PMIX_NODEID, Value::Uint32(30)},
                       {PMIX_UNIV_SIZE, Value::Uint32(9)},
                       {"job.key", Value::String("j")},
                       {PMIX_PROC_DATA, Value::InfoArray(proc)},
                       {PMIX_NODE_INFO_ARRAY, Value::InfoArray(node)},
                       {PMIX_APP_INFO_ARRAY, Value::InfoArray(app)}};
  return Read(infos, 1, "a");
}

std::string ValueOf(const Keys& keys, std::string_view key) {
  for (const auto& [name, value] : keys) {
    if (name == key) return value;
  }
  return "none";
}

void ExpectSame(const Proc& a, const Proc& b) {
  EXPECT_EQ(a.numbers.app_rank, b.numbers.app_rank);
  EXPECT_EQ(a.numbers.local_rank, b.numbers.local_rank);
  EXPECT_EQ(a.numbers.node_rank, b.numbers.node_rank);
  EXPECT_EQ(a.global_rank, b.global_rank);
  EXPECT_EQ(a.package_rank, b.package_rank);
  EXPECT_EQ(a.cpuset, b.cpuset);
  EXPECT_EQ(a.keys, b.keys);
}

TEST(JobInfoTest, AnotherServerReadsTheSameJobFromTheDescription) {
  const Registration told = Told();
  const Registration there = Read(DescribeJob(told), 2, "b");
  ASSERT_EQ(there.job.procs.size(), told.job.procs.size());
  for (size_t i = 0; i < told.procs.size(); ++i) {
    EXPECT_EQ(there.job.procs[i].node, told.job.procs[i].node);
    EXPECT_EQ(there.job.procs[i].app, told.job.procs[i].app);
    ExpectSame(there.procs[i], told.procs[i]);
  }
  EXPECT_EQ(there.self_node, 1u);
  EXPECT_EQ(there.job.nodes[0].agent, 30u);
  EXPECT_EQ(there.job.nodes[1].agent, 40u);
  EXPECT_EQ(there.job.universe_size, 9u);
  EXPECT_EQ(ValueOf(there.job_keys, "job.key"),
            ValueOf(told.job_keys, "job.key"));
  EXPECT_EQ(ValueOf(there.nodes[1], "node.key"),
            ValueOf(told.nodes[1], "node.key"));
  EXPECT_EQ(ValueOf(there.apps[0], "app.key"),
            ValueOf(told.apps[0], "app.key"));
}

TEST(JobInfoTest, KeysOfThisNodeAreDescribedForThisNodeOnly) {
  const Registration told = Told();
  EXPECT_NE(ValueOf(told.job_keys, PMIX_LOCAL_PEERS), "none");
  const Registration there = Read(DescribeJob(told), 2, "b");
  EXPECT_EQ(ValueOf(there.job_keys, PMIX_LOCAL_PEERS), "none");
  EXPECT_NE(ValueOf(there.nodes[0], PMIX_LOCAL_PEERS), "none");
}

TEST(JobInfoTest, ANamespaceWithoutDataHasOnlyItsName) {
  Registration told;
  told.no_data = true;
  told.job.nspace = "job";
  const InfoList infos = DescribeJob(told);
  ASSERT_EQ(infos.size(), 1u);
  const auto job = InfosOf(infos[0].value);
  ASSERT_TRUE(job && job->size() == 1);
  EXPECT_EQ(KeyOf((*job)[0]), PMIX_NSPACE);
}

}  // namespace
}  // namespace canopy::registration
