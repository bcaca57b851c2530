#include "client/cli/agents/bring_up_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace canopy::cli {
namespace {

using State = AgentReport::State;

AgentReport Agent(const std::string& node, State state,
                  const std::string& cause = "") {
  return {node, state, cause, "ssh " + node, "/opt/bin/canopyd"};
}

TEST(BringUpReportTest, NamesSilentAgentsAndTheAgentsThatWaitForThem) {
  const std::vector<AgentReport> agents = {
      Agent("h1", State::kAnswered), Agent("h2", State::kAnswered),
      Agent("10.255.255.1", State::kSilent)};
  EXPECT_EQ(BringUpError(agents, 10),
            "no answer from 10.255.255.1 (1 of 3) in 10 s; check that 'ssh "
            "10.255.255.1 true' works; h1, h2 wait for it");
  EXPECT_EQ(BringUpProgress(agents),
            "agents started 2/3, no answer yet from 10.255.255.1");
  EXPECT_EQ(MissingText(agents, 5),
            "continuing without 1 of 3 nodes: no answer from 10.255.255.1 (1 "
            "of 3) in 5 s; check that 'ssh 10.255.255.1 true' works");
}

TEST(BringUpReportTest, NamesEachCauseOnceWithAllItsNodes) {
  const std::vector<AgentReport> agents = {
      Agent("a", State::kFailed, "ended: Could not resolve hostname a"),
      Agent("c", State::kFailed, "ended: bash: /opt/bin/canopyd: No such file"),
      Agent("b", State::kFailed, "ended: Could not resolve hostname b"),
      Agent("d", State::kAnswered)};
  EXPECT_EQ(BringUpError(agents, 10),
            "no agent on a, b (2 of 4): ended: Could not resolve hostname a; "
            "check the names, as with 'getent hosts a'; no agent on c (1 of "
            "4): ended: bash: /opt/bin/canopyd: No such file; install Canopy "
            "at the same path there (/opt/bin/canopyd); d waits for them");
}

TEST(BringUpReportTest, NamesAgentsThatAreNotConnected) {
  const std::vector<AgentReport> agents = {Agent("a", State::kUp),
                                           Agent("b", State::kAnswered)};
  EXPECT_EQ(BringUpError(agents, 3),
            "not connected with the other agents in 3 s: b (1 of 2); check "
            "that the nodes reach each other; --listen names the address of "
            "agents");
  EXPECT_EQ(BringUpProgress(agents), "agents up 1/2");
}

TEST(BringUpReportTest, GivesNoAdviceAboutACommandForThisMachine) {
  AgentReport agent = Agent("a", State::kFailed, "ended before it was up");
  agent.remote_command.clear();
  const std::vector<AgentReport> agents = {agent, Agent("b", State::kSilent)};
  EXPECT_EQ(BringUpError({agents.data(), 1}, 3),
            "no agent on a (1 of 1): ended before it was up");
  EXPECT_EQ(BringUpProgress(agents),
            "agents started 0/2, failed 1, no answer yet from b");
}

TEST(BringUpReportTest, NamesAtMostTenNodes) {
  std::vector<std::string> names;
  for (int i = 1; i <= 10; ++i) names.push_back(std::to_string(i));
  EXPECT_EQ(NodesText(names), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10");
  names.push_back("11");
  names.push_back("12");
  EXPECT_EQ(NodesText(names), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more");
}

}  // namespace
}  // namespace canopy::cli
