#include "common/allocation/allocation.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace canopy {
namespace {

class AllocationTest : public testing::Test {
 protected:
  Result<std::optional<Allocation>> Find() {
    return FindAllocation([this](const char* name) -> char* {
      const auto it = variables_.find(name);
      return it == variables_.end() ? nullptr : it->second.data();
    });
  }
  // Fails the test if there is no allocation.
  Allocation MustFind() {
    Result<std::optional<Allocation>> found = Find();
    EXPECT_TRUE(found.ok()) << found.status().message();
    if (!found.ok() || !found->has_value()) {
      ADD_FAILURE() << "no allocation";
      return {};
    }
    return **found;
  }
  std::string Write(const std::string& content) {
    const std::string path = testing::TempDir() + "/nodes";
    std::ofstream(path) << content;
    return path;
  }

  std::map<std::string, std::string> variables_;
};

TEST_F(AllocationTest, FindsNoAllocationIfVariablesAreMissing) {
  for (const auto& half : {std::map<std::string, std::string>{},
                           {{"SLURM_JOB_ID", "17"}},
                           {{"PBS_JOBID", "17.server"}},
                           {{"PBS_NODEFILE", "/nonexistent"}},
                           {{"JOB_ID", "17"}, {"NSLOTS", "1"}}}) {
    variables_ = half;
    const auto found = Find();
    ASSERT_TRUE(found.ok());
    EXPECT_FALSE(found->has_value());
  }
}

TEST_F(AllocationTest, SlurmStartsTheAgentsOfAllItsNodes) {
  variables_ = {{"SLURM_JOB_ID", "17"},
                {"SLURM_JOB_NODELIST", "n1,n2"},
                {"SLURM_TASKS_PER_NODE", "3(x2)"}};
  const Allocation found = MustFind();
  EXPECT_EQ(found.job, "Slurm job 17");
  EXPECT_TRUE(found.launches_all);
  EXPECT_TRUE(found.launch_agent.starts_with("srun "));
  ASSERT_EQ(found.hosts.size(), 2u);
  EXPECT_EQ(found.hosts[1].name, "n2");
  EXPECT_EQ(found.hosts[1].slots, 3u);
}

TEST_F(AllocationTest, EachLineOfThePbsFileIsASlot) {
  variables_ = {{"PBS_JOBID", "17.server"},
                {"PBS_NODEFILE", Write("n2\nn2\nn1\nn2\nn1\n")}};
  const Allocation found = MustFind();
  EXPECT_EQ(found.job, "PBS job 17.server");
  EXPECT_EQ(found.launch_agent, "");
  EXPECT_FALSE(found.launches_all);
  ASSERT_EQ(found.hosts.size(), 2u);
  EXPECT_EQ(found.hosts[0].name, "n2");
  EXPECT_EQ(found.hosts[0].slots, 3u);
  EXPECT_EQ(found.hosts[1].slots, 2u);
}

TEST_F(AllocationTest, ASingleLineOfThePbsFileIsOneSlot) {
  variables_ = {{"PBS_JOBID", "17"}, {"PBS_NODEFILE", Write("n1\n")}};
  EXPECT_EQ(MustFind().hosts.at(0).slots, 1u);
}

TEST_F(AllocationTest, TheGridEngineFileContainsSlots) {
  variables_ = {{"JOB_ID", "17"},
                {"NSLOTS", "6"},
                {"PE_HOSTFILE", Write("head 4 all.q@x UNDEFINED\n"
                                      "n1.cluster  2  all.q@n1 0,0:0,1\n")}};
  const Allocation found = MustFind();
  EXPECT_EQ(found.job, "Grid Engine job 17");
  EXPECT_TRUE(found.launch_agent.starts_with("qrsh "));
  ASSERT_EQ(found.hosts.size(), 2u);
  EXPECT_EQ(found.hosts[0].slots, 4u);
  EXPECT_EQ(found.hosts[1].name, "n1.cluster");
  EXPECT_EQ(found.hosts[1].slots, 2u);
}

TEST_F(AllocationTest, ErrorsNameTheVariableOrTheLine) {
  variables_ = {{"PBS_JOBID", "17"}, {"PBS_NODEFILE", "/nonexistent/nodes"}};
  auto found = Find();
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("PBS_NODEFILE"), std::string::npos);
  variables_ = {{"PE_HOSTFILE", Write("n1 2 q@n1 UNDEFINED\nn2 none q\n")}};
  found = Find();
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("nodes:2: "), std::string::npos);
}

TEST_F(AllocationTest, RefusesInvalidGridEngineFiles) {
  for (const char* bad : {"", "\n", "n1", "n1 x", "n1 0", "n1 -1", "n1:2 2",
                          "-n1 2", "n1 4294967295", "n1,n2 2 q@n1", "= 1"}) {
    EXPECT_FALSE(ParsePeHostfile(bad, "f").ok()) << bad;
  }
}

}  // namespace
}  // namespace canopy
