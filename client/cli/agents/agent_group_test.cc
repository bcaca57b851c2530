#include "client/cli/agents/agent_group.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace canopy::cli {
namespace {

constexpr int kLong = 30000;

std::vector<AgentPlan> Plans(const std::vector<std::string>& roles) {
  std::vector<AgentPlan> plans;
  for (const std::string& role : roles) {
    AgentPlan& plan = plans.emplace_back();
    plan.command = {"client/cli/agents/fake_agent", role};
    plan.config.set_node_name("n" + std::to_string(plans.size()));
    plan.config.set_embedded(true);
    for (size_t i = 0; i < roles.size(); ++i) {
      plan.config.add_member_names("n" + std::to_string(i + 1));
    }
  }
  return plans;
}

class AgentGroupTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { signal(SIGPIPE, SIG_IGN); }
  // Checks that no process of the test remains.
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  static Status BringUp(AgentGroup* group,
                        const std::vector<std::string>& roles,
                        int timeout_ms = kLong) {
    if (Status s = group->Start(Plans(roles)); !s.ok()) return s;
    return group->WaitReady(timeout_ms, -1, nullptr);
  }
  static void ExpectFailure(const std::vector<std::string>& roles,
                            const std::string& text, int timeout_ms = kLong) {
    AgentGroup group;
    const Status status = BringUp(&group, roles, timeout_ms);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(text), std::string::npos)
        << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
};

TEST_F(AgentGroupTest, BringsUpAllMembers) {
  AgentGroup group;
  std::string line;
  ASSERT_TRUE(group.Start(Plans({"a", "b", "c"})).ok());
  const Status status = group.WaitReady(
      kLong, -1, [&line](const std::string& text) { line = text; });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_NE(line.find("/3"), std::string::npos) << line;
  ASSERT_EQ(group.nodes().size(), 3u);
  EXPECT_EQ(group.nodes()[1].name(), "n2");
  EXPECT_EQ(group.nodes()[2].address(), "c");
  group.Stop(kLong);
}

TEST_F(AgentGroupTest, AFailureNamesTheNodeAndItsLastErrorLine) {
  ExpectFailure({"a", "dies"},
                "no agent on n2 (1 of 2): ended before it was up: last words; "
                "n1 waits for it");
  ExpectFailure({"refuses", "b"},
                "no agent on n1 (1 of 2): gave up: no room here");
  ExpectFailure({"a", "unlinked"}, "cannot reach the others");
  ExpectFailure({"garbage", "b"}, "does not speak the bootstrap protocol");
  ExpectFailure({"a", "silent", "silent"},
                "no answer from n2, n3 (2 of 3) in 0 s; n1 waits for them",
                300);
}

TEST_F(AgentGroupTest, AFailureNamesAllNodesThatFail) {
  ExpectFailure({"dies", "a", "dies"},
                "no agent on n1, n3 (2 of 3): ended before it was up: last "
                "words; n2 waits for them");
}

TEST_F(AgentGroupTest, AFailureEndsTheWaitForOtherAgentsSoon) {
  ExpectFailure({"dies", "silent"}, "no agent on n1 (1 of 2)");
}

TEST_F(AgentGroupTest, ContinuesWithoutMissingAgents) {
  AgentGroup group;
  group.AllowMissing();
  ASSERT_TRUE(group.Start(Plans({"dies", "b", "silent", "d"})).ok());
  const Status status = group.WaitReady(6000, -1, nullptr);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(group.nodes().size(), 2u);
  EXPECT_EQ(group.nodes()[0].name(), "n2");
  EXPECT_EQ(group.nodes()[1].name(), "n4");
  EXPECT_EQ(group.missing(),
            "continuing without 2 of 4 nodes: no agent on n1 (1 of 4): ended "
            "before it was up: last words; no answer from n3 (1 of 4) in 3 s");
  group.Stop(kLong);
}

TEST_F(AgentGroupTest, FailsIfNoAgentAnswers) {
  AgentGroup group;
  group.AllowMissing();
  ASSERT_TRUE(group.Start(Plans({"dies", "dies"})).ok());
  EXPECT_EQ(group.WaitReady(kLong, -1, nullptr).message(),
            "no agent on n1, n2 (2 of 2): ended before it was up: last words");
}

TEST_F(AgentGroupTest, StartFailsIfACommandDoesNotExist) {
  std::vector<AgentPlan> plans = Plans({"a", "b"});
  plans[1].command = {"/nonexistent/agent"};
  AgentGroup group;
  const Status status = group.Start(std::move(plans));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("/nonexistent/agent"), std::string::npos);
}

TEST_F(AgentGroupTest, AnInterruptEndsTheWait) {
  const int interrupt = eventfd(1, EFD_CLOEXEC);
  AgentGroup group;
  ASSERT_TRUE(group.Start(Plans({"silent"})).ok());
  EXPECT_EQ(group.WaitReady(kLong, interrupt, nullptr).code(), kErrJobCanceled);
  close(interrupt);
}

}  // namespace
}  // namespace canopy::cli
