#include "server/control/timeout_reports.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/control/control_testing.h"
#include "server/control/staging.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/control_inputs.h"
#include "server/ports/input_sink_testing.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {
namespace {

using Words = std::vector<std::string>;

// The tests use a job "first" that is to be ended.
class TimeoutReportsTest : public testing::Test {
 protected:
  TimeoutReportsTest() {
    planner_.stacks_program = "/p/canopy-stacks";
    planner_.spawn = [this](const spawn::SpawnCall& call, const ProcId&,
                            const Placed&) -> PlannedJob {
      if (refusal_.code() != kSuccess) return refusal_;
      argv_ = call.apps.at(0).argv;
      return PlannedJob(Job("reporter"));
    };
    pipeline_.set_sink(&sink_);
    states_.set_sink(&sink_);
    reports_.set_sink(&sink_);
    family_ = families_.AddFamily("first");
    families_.AddJob(family_, Job("first"), {});
    families_.launchers()[kLauncher] = Launcher(&stream_, OwnUser());
    families_.Attach(kLauncher, family_);
  }

  void RunOut(uint32_t wanted) {
    families_.FindJob("first")->facts.reports = wanted;
    reports_.OnOutOfTime("first");
  }
  // Returns true if the pending operations of the job are being collected,
  // after which the job is ended.
  bool Ends() { return !sink_.Take<core::StateRequested>().empty(); }

  EventLoop loop_;
  RecordingSink sink_;
  Stream stream_;
  JobPlanner planner_;
  Status refusal_;
  Words argv_;
  Families families_;
  Family* family_ = nullptr;
  StateCollector states_;
  Staging staging_{[](const std::string&, const Status&) {},
                   [](const std::string&, uint64_t) {}};
  Placements placements_{&loop_, [](QueuedJob*) {}};
  LaunchPipeline pipeline_{&families_, &placements_, &staging_, &planner_,
                           [](const std::string&, const Status&) {}};
  TimeoutReports reports_{&loop_, &families_, &pipeline_, &states_, planner_};
};

TEST_F(TimeoutReportsTest, AJobWithoutReportsIsEndedAtOnce) {
  RunOut(kNotifyCompletion);
  EXPECT_TRUE(Ends());
  EXPECT_TRUE(argv_.empty());
}

TEST_F(TimeoutReportsTest, TheReportRunsAsAJobBeforeTheEnd) {
  RunOut(kTimeoutStates | kTimeoutStacks);
  EXPECT_FALSE(Ends());
  EXPECT_EQ(argv_, (Words{"/p/canopy-stacks", "first", "--report", "states",
                          "stacks"}));
  EXPECT_EQ(sink_.Take<core::LaunchRequested>().at(0).job->nspace, "reporter");
  EXPECT_EQ(stream_.Of(v1::RunEvent::kMapped).size(), 1u)
      << "its output is told";
  EXPECT_TRUE(families_.FindJob("reporter")->facts.tool);
  reports_.OnEnded("another");
  EXPECT_FALSE(Ends());
  reports_.OnEnded("reporter");
  EXPECT_TRUE(Ends());
}

TEST_F(TimeoutReportsTest, OnlyRequestedReportsAreMade) {
  RunOut(kTimeoutStacks);
  EXPECT_EQ(argv_, (Words{"/p/canopy-stacks", "first", "--report", "stacks"}));
}

TEST_F(TimeoutReportsTest, NoReportIsMadeWithoutALauncher) {
  families_.launchers().clear();
  RunOut(kTimeoutStates);
  EXPECT_TRUE(Ends());
  EXPECT_TRUE(argv_.empty());
}

TEST_F(TimeoutReportsTest, AMissingReportIsExplained) {
  refusal_ = Status(kErrNotFound, "no nodes");
  RunOut(kTimeoutStates);
  EXPECT_TRUE(Ends());
  EXPECT_EQ(stream_.Of(v1::RunEvent::kNotice).at(0).notice(),
            "job first: its processes are not looked at: no nodes");
}

TEST_F(TimeoutReportsTest, AJobThatHasEndedDuringTheReportIsNotEnded) {
  RunOut(kTimeoutStates);
  families_.RemoveJob("first");
  reports_.OnEnded("reporter");
  EXPECT_FALSE(Ends());
}

}  // namespace
}  // namespace canopy::control
