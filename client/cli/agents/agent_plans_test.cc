#include "client/cli/agents/agent_plans.h"

#include <gtest/gtest.h>

#include "client/cli/base/this_machine.h"

namespace canopy::cli {
namespace {

using Words = std::vector<std::string>;

std::vector<AgentSite> Sites(const std::string& hosts,
                             const std::string& launch_agent = "") {
  const auto parsed = ParseHostList(hosts);
  EXPECT_TRUE(parsed.ok());
  const auto sites = HostSites(*parsed, launch_agent);
  EXPECT_TRUE(sites.ok()) << sites.status().message();
  return sites.ok() ? *sites : std::vector<AgentSite>();
}

TEST(AgentPlansTest, AllNamesOfThisMachineDenoteOneNode) {
  const auto sites = Sites("localhost:2,127.0.0.1:3");
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].name, HostName());
  EXPECT_TRUE(sites[0].remote_command.empty());
  EXPECT_EQ(sites[0].slots, 5u);
  EXPECT_EQ(
      std::count(sites[0].aliases.begin(), sites[0].aliases.end(), "127.0.0.1"),
      1);
}

TEST(AgentPlansTest, OtherHostsAreReachedByTheLaunchAgent) {
  const auto sites = Sites("joe@n1,n2:3,n2:1", "ip netns exec {host}");
  ASSERT_EQ(sites.size(), 2u);
  EXPECT_EQ(sites[0].name, "n1");
  EXPECT_EQ(sites[0].remote_command, (Words{"ip", "netns", "exec", "joe@n1"}));
  EXPECT_EQ(sites[1].name, "n2");
  EXPECT_EQ(sites[1].slots, 4u);
}

TEST(AgentPlansTest, EachRepetitionOfANameAddsASlot) {
  const auto sites = Sites("n1,n2,n1,n1,n3:4,n3", "ssh {host}");
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(sites[0].slots, 3u);
  EXPECT_EQ(sites[1].slots, 0u);
  EXPECT_EQ(sites[2].slots, 5u);
}

TEST(AgentPlansTest, OtherHostsAreReachedByTheDefaultCommand) {
  const auto hosts = ParseHostList("localhost,n1");
  const auto sites = HostSites(*hosts, "", "qrsh -inherit {host}");
  ASSERT_TRUE(sites.ok());
  ASSERT_EQ(sites->size(), 2u);
  EXPECT_TRUE((*sites)[0].remote_command.empty());
  EXPECT_EQ((*sites)[1].remote_command, (Words{"qrsh", "-inherit", "n1"}));
}

TEST(AgentPlansTest, RefusesRelativeHostsAndInvalidLaunchAgents) {
  EXPECT_FALSE(HostSites(*ParseHostList("+n0"), "").ok());
  EXPECT_FALSE(HostSites(*ParseHostList("n1"), "rsh").ok());
  EXPECT_FALSE(HostSites(*ParseHostList("n1"), "ssh '{host}").ok());
}

TEST(AgentPlansTest, EmulatedNodesStayOnLoopback) {
  OverlayPlan plan;
  plan.sites = *EmulatedSites(3);
  plan.emulated = true;
  plan.runtime_dir = "/run/x";
  MakeIdentity(&plan);
  const auto agents = MakeAgentPlans(plan);
  ASSERT_EQ(agents.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    const auto& config = agents[i].config;
    EXPECT_EQ(config.node_name(), "node" + std::to_string(i + 1));
    EXPECT_EQ(config.self(), i);
    EXPECT_EQ(config.member_names_size(), 3);
    EXPECT_EQ(config.security(), "tls");
    EXPECT_EQ(config.listen(), "127.0.0.1");
    EXPECT_EQ(config.radix(), kDefaultRadix);
    EXPECT_EQ(config.overlay_id().size(), 16u);
    EXPECT_EQ(config.cluster_key().size(), 32u);
    EXPECT_EQ(config.runtime_dir(), "/run/x/" + std::to_string(i));
    EXPECT_EQ(agents[i].command.size(), 2u);
  }
  EXPECT_EQ(agents[0].config.cluster_key(), agents[2].config.cluster_key());
}

TEST(AgentPlansTest, EmulatedNodesHaveTheSlotsOfTheirHosts) {
  const auto sites =
      *EmulatedSites(3, *ParseHostList("node1:40,+n1,node3:2,node3,other:7"));
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(sites[0].slots, 40u);
  EXPECT_EQ(sites[1].slots, 0u);
  EXPECT_EQ(sites[2].slots, 3u);
  const auto one = EmulatedSites(1, *ParseHostList("localhost:5"));
  EXPECT_EQ(one->at(0).slots, 5u);
  EXPECT_EQ(one->at(0).name, "node1");
  const auto own = OwnSite(*ParseHostList("node1:6"));
  EXPECT_EQ(own[0].slots, 6u);
  EXPECT_EQ(own[0].name, HostName());
}

TEST(AgentPlansTest, TheNumberOfEmulatedNodesIsLimited) {
  EXPECT_EQ(EmulatedSites(kMaxEmulated)->size(), kMaxEmulated);
  EXPECT_EQ(EmulatedSites(kMaxEmulated + 1).status().code(), kErrBadParam);
}

TEST(AgentPlansTest, TheWarningOfEmulationNamesTheOption) {
  EXPECT_EQ(EmulationWarning("no hosts are named", 2),
            "no hosts are named: emulating 2 nodes on this machine, as "
            "--emulate 2 does");
}

TEST(AgentPlansTest, OneAgentOfEachMachineIsTheSystemServer) {
  OverlayPlan plan;
  plan.sites = Sites("n1,n2", "ssh {host}");
  plan.system = true;
  auto agents = MakeAgentPlans(plan);
  EXPECT_TRUE(agents[0].config.system_server());
  EXPECT_TRUE(agents[1].config.system_server());
  plan.emulated = true;
  agents = MakeAgentPlans(plan);
  EXPECT_TRUE(agents[0].config.system_server());
  EXPECT_FALSE(agents[1].config.system_server());
  plan.system = false;
  EXPECT_FALSE(MakeAgentPlans(plan)[0].config.system_server());
}

TEST(AgentPlansTest, AgentsOfSeveralMachinesUseTls) {
  OverlayPlan plan;
  plan.sites = Sites("n1,n2", "ssh {host}");
  plan.runtime_dir = "/run/x";
  MakeIdentity(&plan);
  const auto agents = MakeAgentPlans(plan);
  ASSERT_EQ(agents.size(), 2u);
  EXPECT_EQ(agents[1].config.security(), "tls");
  EXPECT_EQ(agents[1].config.listen(), "");
  EXPECT_EQ(agents[1].config.runtime_dir(), "");
  EXPECT_EQ(agents[1].command[0], "ssh");
  EXPECT_EQ(agents[1].command[1], "n2");
  EXPECT_EQ(agents[1].command.back(), "--bootstrap");
}

}  // namespace
}  // namespace canopy::cli
