#include "server/control/spawn_requests.h"

#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/core/step/input.h"

namespace canopy::control {
namespace {

using core::JobPhase;

class Sink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    inputs.push_back(std::move(input));
  }
  void Drain() override {}

  template <typename T>
  std::vector<T> All() const {
    std::vector<T> out;
    for (const core::Input& input : inputs) {
      if (const T* t = std::get_if<T>(&input)) out.push_back(*t);
    }
    return out;
  }

  std::vector<core::Input> inputs;
};

const core::HostSpawn kSpawn{{"job", 1}, 5, {}};

class SpawnRequestsTest : public testing::Test {
 protected:
  SpawnRequestsTest() { requests_.set_sink(&sink_); }

  core::JobChanged Change(JobPhase phase, uint32_t started, int status = 0) {
    core::JobChanged change;
    change.nspace = "child";
    change.phase = phase;
    change.procs_started = started;
    change.status = status;
    return change;
  }
  core::SpawnDone Only() {
    const auto all = sink_.All<core::SpawnDone>();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? core::SpawnDone() : all.front();
  }

  EventLoop loop_;
  Sink sink_;
  SpawnRequests requests_{&loop_};
};

TEST_F(SpawnRequestsTest, IsAnsweredOnceAllProcessesHaveStarted) {
  requests_.Begin(kSpawn, "child", 0);
  EXPECT_FALSE(requests_.OnJobChanged(Change(JobPhase::kPreparing, 0), 2));
  EXPECT_FALSE(requests_.OnJobChanged(Change(JobPhase::kStarting, 1), 2));
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_TRUE(requests_.OnJobChanged(Change(JobPhase::kRunning, 2), 2));
  EXPECT_EQ(Only().status, kSuccess);
  EXPECT_EQ(Only().nspace, "child");
  EXPECT_EQ(Only().proc, (ProcId{"job", 1}));
  EXPECT_EQ(Only().request, 5u);
  EXPECT_FALSE(requests_.OnJobChanged(Change(JobPhase::kEnded, 2), 2));
  EXPECT_EQ(sink_.inputs.size(), 1u);
}

TEST_F(SpawnRequestsTest, AFailureIsAnsweredWhenNothingRunsAnyMore) {
  requests_.Begin(kSpawn, "child", 0);
  EXPECT_FALSE(requests_.OnJobChanged(
      Change(JobPhase::kEnding, 1, kErrJobExeNotFound), 2));
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_FALSE(requests_.OnJobChanged(
      Change(JobPhase::kEnded, 1, kErrJobExeNotFound), 2));
  EXPECT_EQ(Only().status, kErrJobExeNotFound);
  EXPECT_EQ(Only().nspace, "");
}

TEST_F(SpawnRequestsTest, AJobThatStartedAndEndedAtOnceHasStarted) {
  requests_.Begin(kSpawn, "child", 0);
  EXPECT_TRUE(requests_.OnJobChanged(
      Change(JobPhase::kEnded, 2, kErrJobNonZeroTerm), 2));
  EXPECT_EQ(Only().status, kSuccess);
}

TEST_F(SpawnRequestsTest, WhatTheStandardHasNoStatusForIsAFailureToLaunch) {
  requests_.Begin(kSpawn, "child", 0);
  requests_.OnJobChanged(Change(JobPhase::kEnded, 0, kErrNodeDown), 2);
  EXPECT_EQ(Only().status, kErrJobFailedToLaunch);
}

TEST_F(SpawnRequestsTest, WhatTheSystemRefusesIsItsFailure) {
  requests_.Begin(kSpawn, "child", {});
  requests_.OnJobChanged(Change(JobPhase::kEnded, 0, kErrSysLimitsFiles), 2);
  EXPECT_EQ(Only().status, kErrJobSysOpFailed);
}

TEST_F(SpawnRequestsTest, AnUnknownHostIsAnAllocationThatFailed) {
  requests_.Refuse(kSpawn, Status(kErrNotFound, "no node"));
  EXPECT_EQ(Only().status, kErrJobAllocFailed);
}

TEST_F(SpawnRequestsTest, WhatDoesNotStartInTimeIsEnded) {
  requests_.Begin(kSpawn, "child", EventLoop::Now() + 10'000'000);
  while (sink_.inputs.empty()) loop_.RunOnce(2000);
  const auto kills = sink_.All<core::KillRequested>();
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].nspace, "child");
  requests_.OnJobChanged(Change(JobPhase::kEnded, 0, kErrJobCanceled), 2);
  EXPECT_EQ(Only().status, kErrTimeout);
}

TEST_F(SpawnRequestsTest, APredecessorsRequestIsAnsweredByTheSuccessor) {
  requests_.Recover({"job", 1}, 5, "child", 0, false);
  const auto known = sink_.All<core::SpawnRecovered>();
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].request, 5u);
  EXPECT_TRUE(requests_.OnJobChanged(Change(JobPhase::kRunning, 2), 2));
  EXPECT_EQ(Only().status, kSuccess);
}

TEST_F(SpawnRequestsTest, ItsTimeToStartGoesOnUnderTheSuccessor) {
  requests_.Recover({"job", 1}, 5, "child", /*deadline=*/1, false);
  while (sink_.All<core::KillRequested>().empty()) loop_.RunOnce(2000);
  requests_.OnJobChanged(Change(JobPhase::kEnded, 0, kErrJobCanceled), 2);
  EXPECT_EQ(Only().status, kErrTimeout);
}

TEST_F(SpawnRequestsTest, OfAJobThatIsOverTheAnswerIsKnown) {
  requests_.Recover({"job", 1}, 5, "child", 0, true);
  EXPECT_EQ(Only().nspace, "child");
}

}  // namespace
}  // namespace canopy::control
