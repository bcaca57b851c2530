#include "server/control/host_commands.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <utility>

#include "server/control/control_testing.h"
#include "server/ports/fake_sink.h"

namespace canopy::control {
namespace {

// A listener without launchers.
class NoLaunchers : public LauncherListener {
 public:
  uint64_t NewLauncher() override { return 1; }
  void OnLauncher(uint64_t, LauncherStream*, const Caller&) override {}
  void OnRequest(uint64_t, v1::RunRequest) override {}
  void OnGone(uint64_t) override {}
};

class HostCommandsTest : public testing::Test {
 protected:
  // Adds a job that the host has placed as `host_job`.
  void AddJob(const std::string& nspace, const std::string& host_job) {
    auto spec = std::make_shared<JobSpec>();
    spec->nspace = nspace;
    LaunchFacts facts;
    facts.placed.id.request = nspace;
    facts.placed.host_job = host_job;
    families_.AddJob(families_.AddFamily(nspace), std::move(spec), facts);
  }

  EventLoop loop_;
  FakeSink sink_;
  NoLaunchers launchers_;
  Families families_;
  std::string drained_;
  JobPlanner planner_{
      .drain =
          [this](const std::string& name, const std::string& reason) {
            drained_ = name + ": " + reason;
            return Status();
          },
      .warn = {},
      .stacks_program = "",
      .new_name = [] { return std::string("new"); },
      .launch = [](const JobRequest&, const Caller&, const Placed&)
          -> PlannedJob { return Status(kErrJobAllocFailed, "no room"); },
      .spawn = {},
      .topology = {},
      .name_hosts = {}};
  Placements placements_{&loop_, [](QueuedJob*) {}};
  LaunchPipeline pipeline_{&families_, &placements_, nullptr, &planner_,
                           [](const std::string&, const Status&) {}};
  HostCommands commands_{{&loop_, &planner_, &families_, &placements_,
                          &pipeline_, &launchers_, &sink_}};
};

TEST_F(HostCommandsTest, ACommandAppliesToAllJobsOfTheHostsJob) {
  AddJob("a", "42");
  AddJob("b", "42");
  AddJob("c", "43");
  EXPECT_TRUE(commands_.SignalHostJob("42", SIGUSR1).ok());
  const auto signals = sink_.All<core::SignalRequested>();
  ASSERT_EQ(signals.size(), 2u);
  EXPECT_EQ(signals[0].nspace, "a");
  EXPECT_EQ(signals[1].nspace, "b");
  EXPECT_TRUE(commands_.KillHostJob("43", "why", true).ok());
  ASSERT_EQ(sink_.All<core::KillRequested>().size(), 1u);
  EXPECT_EQ(sink_.All<core::KillRequested>()[0].nspace, "c");
}

TEST_F(HostCommandsTest, ASuspendedJobIsRecordedAsStopped) {
  FakePlacement placement;
  placements_.set_port(&placement);
  AddJob("a", "42");
  EXPECT_TRUE(commands_.SuspendHostJob("42", true).ok());
  EXPECT_TRUE(families_.FindJob("a")->facts.suspended);
  EXPECT_EQ(placement.suspended, std::vector<std::string>{"a"});
  EXPECT_TRUE(commands_.SuspendHostJob("42", false).ok());
  EXPECT_FALSE(families_.FindJob("a")->facts.suspended);
  const auto signals = sink_.All<core::SignalRequested>();
  ASSERT_EQ(signals.size(), 2u);
  EXPECT_EQ(signals[0].signal, SIGSTOP);
  EXPECT_EQ(signals[1].signal, SIGCONT);
  EXPECT_EQ(commands_.SuspendHostJob("43", true).code(), kErrNotFound);
}

TEST_F(HostCommandsTest, JobsWithoutTheHostsNameAreNotFound) {
  AddJob("a", "");
  EXPECT_EQ(commands_.KillHostJob("", "why", true).code(), kErrNotFound);
  EXPECT_EQ(commands_.SetHostTimeLimit("44", 1, 0).code(), kErrNotFound);
  EXPECT_EQ(commands_.RequeueHostJob("44", "why").code(), kErrNotFound);
  EXPECT_TRUE(sink_.inputs.empty());
}

TEST_F(HostCommandsTest, AJobWithoutNodesOrOfAKnownRequestIsNotLaunched) {
  int status = kSuccess;
  const auto note = [&](const Result<std::string>& nspace) {
    status = nspace.code();
  };
  HostLaunch launch;
  launch.id.request = "request";
  commands_.LaunchHostJob(launch, note);
  EXPECT_EQ(status, kErrJobAllocFailed);
  AddJob("request", "42");
  commands_.LaunchHostJob(launch, note);
  EXPECT_EQ(status, kErrExists);
}

TEST_F(HostCommandsTest, NodesAreDrainedWithAReason) {
  EXPECT_TRUE(commands_.DrainNode("node", "").ok());
  EXPECT_EQ(drained_, "node: at the scheduler's request");
  EXPECT_TRUE(commands_.ResumeNode("node").ok());
  EXPECT_EQ(drained_, "node: ");
}

}  // namespace
}  // namespace canopy::control
