#include "client/cli/agents/allocation_sites.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/cli/base/this_machine.h"

namespace canopy::cli {
namespace {

using Words = std::vector<std::string>;

TEST(AllocationSitesTest, ALaunchAgentOfAllNodesStartsThisMachinesToo) {
  const Allocation slurm = {"Slurm job 17",
                            {{HostName(), 3, true, {}}, {"n2", 3, true, {}}},
                            "srun --nodelist={host}",
                            true};
  const auto sites = AllocationSites(slurm, "");
  ASSERT_TRUE(sites.ok());
  ASSERT_EQ(sites->size(), 2u);
  for (const AgentSite& site : *sites) {
    EXPECT_EQ(site.remote_command, (Words{"srun", "--nodelist=" + site.name}));
    EXPECT_EQ(site.slots, 3u);
  }
}

TEST(AllocationSitesTest, TheAgentOfThisMachineNeedsNoCommand) {
  const Allocation grid_engine = {
      "Grid Engine job 17",
      {{HostName(), 4, true, {}}, {"n1.cluster", 2, true, {}}},
      "qrsh -inherit -V {host}",
      false};
  const auto sites = AllocationSites(grid_engine, "");
  ASSERT_TRUE(sites.ok());
  ASSERT_EQ(sites->size(), 2u);
  EXPECT_TRUE((*sites)[0].remote_command.empty());
  EXPECT_EQ((*sites)[1].remote_command,
            (Words{"qrsh", "-inherit", "-V", "n1.cluster"}));
  EXPECT_EQ((*sites)[1].slots, 2u);
}

TEST(AllocationSitesTest, WithoutALaunchAgentHostsAreReachedBySsh) {
  const Allocation pbs = {"PBS job 17", {{"n1", 2, true, {}}}, "", false};
  auto sites = AllocationSites(pbs, "");
  ASSERT_TRUE(sites.ok());
  EXPECT_EQ((*sites)[0].remote_command[0], "ssh");
  sites = AllocationSites(pbs, "reach {host}");
  ASSERT_TRUE(sites.ok());
  EXPECT_EQ((*sites)[0].remote_command, (Words{"reach", "n1"}));
  EXPECT_EQ((*sites)[0].slots, 2u);
}

}  // namespace
}  // namespace canopy::cli
