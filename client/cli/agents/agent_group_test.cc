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
  size_t up = 0;
  ASSERT_TRUE(group.Start(Plans({"a", "b", "c"})).ok());
  const Status status =
      group.WaitReady(kLong, -1, [&up](size_t now, size_t) { up = now; });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(up, 3u);
  ASSERT_EQ(group.nodes().size(), 3u);
  EXPECT_EQ(group.nodes()[1].name(), "n2");
  EXPECT_EQ(group.nodes()[2].address(), "c");
  group.Stop(kLong);
}

TEST_F(AgentGroupTest, FailuresNameTheNodeAndItsLastWords) {
  ExpectFailure(
      {"a", "dies"},
      "agent of node 'n2' (client/cli/agents/fake_agent) ended before it "
      "was up: last words");
  ExpectFailure({"refuses", "b"},
                "'n1' (client/cli/agents/fake_agent) gave up: no "
                "room here");
  ExpectFailure({"a", "unlinked"}, "cannot reach the others");
  ExpectFailure({"garbage", "b"}, "does not speak the bootstrap protocol");
  ExpectFailure({"a", "silent", "silent"}, "did not come up in 0 s, nor did 2",
                300);
}

TEST_F(AgentGroupTest, ACommandThatIsNotThere) {
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
