#include "common/allocation/slurm.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace canopy {
namespace {

using Names = std::vector<std::string>;

TEST(SlurmTest, ExpandsNodeLists) {
  const std::map<std::string, Names> cases = {
      {"login", {"login"}},
      {"a,b", {"a", "b"}},
      {"n[1-3]", {"n1", "n2", "n3"}},
      {"n[08-11]", {"n08", "n09", "n10", "n11"}},
      {"n[1,3-4,9],gpu01", {"n1", "n3", "n4", "n9", "gpu01"}},
      {"r[1-2]c[0-1]", {"r1c0", "r1c1", "r2c0", "r2c1"}},
      {"n[1-2]-ib.cluster,x", {"n1-ib.cluster", "n2-ib.cluster", "x"}},
      {"n[7]", {"n7"}},
  };
  for (const auto& [text, names] : cases) {
    const auto expanded = ExpandSlurmNodes(text);
    ASSERT_TRUE(expanded.ok()) << text;
    EXPECT_EQ(*expanded, names) << text;
  }
}

TEST(SlurmTest, RefusesInvalidNodeLists) {
  for (const char* bad :
       {"", "a,,b", "n[", "n[1", "n[]", "n[3-1]", "n[a-b]", "n]1[", "n[1-]",
        "n[1-99999999]", "n[0-4294967295]", "n[1-60000]x[1-60000]"}) {
    EXPECT_FALSE(ExpandSlurmNodes(bad).ok()) << bad;
  }
}

TEST(SlurmTest, ExpandsCounts) {
  EXPECT_EQ(*ExpandSlurmCounts("4"), (std::vector<uint32_t>{4}));
  EXPECT_EQ(*ExpandSlurmCounts("4(x2),1"), (std::vector<uint32_t>{4, 4, 1}));
  for (const char* bad : {"", "x", "4(x", "4(x2", "4(xa)", "4(x99999999)"}) {
    EXPECT_FALSE(ExpandSlurmCounts(bad).ok()) << bad;
  }
}

char* Environment(const char* name) {
  static const auto* const values = new std::map<std::string, std::string>{
      {"SLURM_JOB_ID", "17"},
      {"SLURM_JOB_NODELIST", "n[1-2]"},
      {"SLURM_TASKS_PER_NODE", "3(x2)"},
  };
  const auto it = values->find(name);
  return it == values->end() ? nullptr : const_cast<char*>(it->second.c_str());
}

TEST(SlurmTest, FindsNodesAndSlotsOfTheAllocation) {
  EXPECT_FALSE(FindSlurmAllocation([](const char*) -> char* {
                 return nullptr;
               }).has_value());
  const auto allocation = FindSlurmAllocation(Environment);
  ASSERT_TRUE(allocation.has_value());
  const auto hosts = SlurmHosts(*allocation);
  ASSERT_TRUE(hosts.ok());
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ((*hosts)[1].name, "n2");
  EXPECT_EQ((*hosts)[1].slots, 3u);
}

TEST(SlurmTest, FindSlurmAllocationReturnsTheNodesOfTheStep) {
  std::map<std::string, std::string> values = {
      {"SLURM_JOB_ID", "17"},
      {"SLURM_JOB_NODELIST", "n[1-2]"},
      {"SLURM_TASKS_PER_NODE", "1"},
      {"SLURM_STEP_NODELIST", "n2"},
      {"SLURM_STEP_TASKS_PER_NODE", "1"},
  };
  const auto environment = [&values](const char* name) -> char* {
    const auto it = values.find(name);
    return it == values.end() ? nullptr : it->second.data();
  };
  EXPECT_EQ(FindSlurmAllocation(environment)->node_list, "n2");
  // An interactive shell keeps the tasks of the allocation.
  values["SLURM_TASKS_PER_NODE"] = "2(x2)";
  EXPECT_EQ(FindSlurmAllocation(environment)->node_list, "n[1-2]");
}

TEST(SlurmTest, CpusAreSlotsIfTasksAreUnknown) {
  const SlurmAllocation allocation = {"17", "n[1-2],m", "", "4(x2),16"};
  const auto hosts = SlurmHosts(allocation);
  ASSERT_TRUE(hosts.ok());
  ASSERT_EQ(hosts->size(), 3u);
  EXPECT_EQ((*hosts)[0].slots, 4u);
  EXPECT_EQ((*hosts)[2].slots, 16u);
  EXPECT_TRUE((*hosts)[2].slots_given);
  EXPECT_FALSE(SlurmHosts({"17", "n[1-", "1", ""}).ok());
  EXPECT_FALSE(SlurmHosts({"17", "n1", "many", ""}).ok());
}

TEST(SlurmTest, AgentsAreStepsOfTheAllocation) {
  const std::string command = SlurmLaunchAgent({"17", "n1", "", ""});
  for (const char* word : {"srun ", " --jobid=17 ", " --nodelist={host} "}) {
    EXPECT_NE(command.find(word), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace canopy
